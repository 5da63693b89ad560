package io.vertigrad.internal.worker;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;

/**
 * What a training loop has to do.
 *
 * @param job hash of the job's name
 * @param partitions how the model's vector is cut
 * @param type how gradients are stored in frames
 * @param compression how they are made smaller than that
 * @param clipNorm longest gradient to send (L2 norm over all trainable elements); 0 for any
 * @param lastVersion the loop ends when every partition has reached it
 * @param lockstep true when workers move in rounds
 * @param epochs when passes over the training set end
 * @param maxMagnitude largest element of a gradient that is sent
 * @param overlap whether parts of a gradient are sent while the rest is computed; neither
 *     compressed nor clipped then
 */
public record TrainingPlan(
    long job,
    PartitionPlan partitions,
    DataType type,
    Compression compression,
    double clipNorm,
    long lastVersion,
    boolean lockstep,
    Epochs epochs,
    float maxMagnitude,
    boolean overlap) {

  public TrainingPlan {
    if (!(clipNorm >= 0)) {
      throw new IllegalArgumentException(
          "clipNorm is %s, expected 0 or a length".formatted(clipNorm));
    }
    if (lastVersion < 1) {
      throw new IllegalArgumentException(
          "lastVersion is %d, expected at least 1".formatted(lastVersion));
    }
    if (overlap && (compression.isOn() || clipNorm > 0)) {
      throw new IllegalArgumentException(
          "overlap with compression %s and clipNorm %s, expected neither"
              .formatted(compression, clipNorm));
    }
  }

  /** A plan of one who counts no epochs. */
  public TrainingPlan(
      long job,
      PartitionPlan partitions,
      DataType type,
      Compression compression,
      double clipNorm,
      long lastVersion,
      boolean lockstep) {
    this(
        job,
        partitions,
        type,
        compression,
        clipNorm,
        lastVersion,
        lockstep,
        Epochs.NONE,
        Float.MAX_VALUE,
        false);
  }

  /**
   * The plan of a job.
   *
   * @param trainingSamples size of the training set
   */
  public static TrainingPlan of(
      JobConfig job, StrategyFactory strategy, PartitionPlan partitions, long trainingSamples) {
    return new TrainingPlan(
        job.addresses().jobHash(),
        partitions,
        job.exchange().type(),
        job.exchange().compression(),
        job.optimizer().clipNorm(),
        strategy.lastVersion(job.steps(), job.workers().count()),
        strategy.lockstep(),
        Epochs.of(job, strategy, trainingSamples),
        job.exchange().maxMagnitude(),
        job.exchange().overlap());
  }
}
