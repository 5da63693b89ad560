package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GradientCompressor;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import java.util.Optional;

/**
 * The work of a training loop.
 *
 * @param job hash of the job's name
 * @param partitions how the model's vector is divided into partitions
 * @param type data type of gradients in frames
 * @param compression how gradients are compressed
 * @param compressor how the strategy compresses gradients instead; empty if it does not
 * @param clipNorm largest L2 norm of a gradient over all trainable elements; 0 for no limit
 * @param lastVersion the loop ends when every partition has reached it
 * @param lockstep true if workers move in rounds
 * @param epochs when passes over the training set end
 * @param maxMagnitude largest magnitude of an element of a gradient that is sent
 * @param overlap whether parts of a gradient are sent while the rest is computed; excludes
 *     compression and clipping
 * @param replicas whether each worker keeps a replica, which others may need after its last step
 * @param model the model's name in the job file
 */
public record TrainingPlan(
    long job,
    PartitionPlan partitions,
    DataType type,
    Compression compression,
    Optional<GradientCompressor> compressor,
    double clipNorm,
    long lastVersion,
    boolean lockstep,
    Epochs epochs,
    float maxMagnitude,
    boolean overlap,
    boolean replicas,
    String model) {

  public TrainingPlan {
    if (!(clipNorm >= 0)) {
      throw new IllegalArgumentException(
          "clipNorm is %s, expected 0 or a length".formatted(clipNorm));
    }
    if (lastVersion < 1) {
      throw new IllegalArgumentException(
          "lastVersion is %s, expected at least 1".formatted(lastVersion));
    }
    if (overlap && (compression.isOn() || compressor.isPresent() || clipNorm > 0)) {
      throw new IllegalArgumentException(
          "overlap with compression %s and clipNorm %s, expected none"
              .formatted(compressor.isPresent() ? "of the strategy" : compression, clipNorm));
    }
  }

  /**
   * Returns the plan of a job.
   *
   * @param trainingSamples size of the training set
   */
  public static TrainingPlan of(
      JobConfig job, StrategyFactory strategy, PartitionPlan partitions, long trainingSamples) {
    StrategyTraits traits = strategy.traits();
    return new TrainingPlan(
        job.addresses().jobHash(),
        partitions,
        job.exchange().type(),
        job.exchange().compression(),
        strategy.compressor(),
        traits.localSteps() > 0 ? 0 : job.optimizer().clipNorm(),
        traits.lastVersion(job.steps(), job.workers().count()),
        traits.lockstep(),
        Epochs.of(job, traits, trainingSamples),
        job.exchange().maxMagnitude(),
        job.exchange().overlap(),
        !traits.besideServers(),
        job.model().name());
  }

  /** Returns true if compression leaves out parts of gradients, which then join the next ones. */
  boolean leavesOut() {
    return compression.isOn() || compressor.isPresent();
  }
}
