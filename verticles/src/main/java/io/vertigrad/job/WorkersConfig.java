package io.vertigrad.job;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.data.DataPartition;
import io.vertigrad.compute.data.DistributedSampler;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.util.Optional;

/**
 * The workers of a job.
 *
 * @param count number of workers that start; an asynchronous job's length is counted for this many
 * @param minimum with fewer workers than this the job waits for more
 * @param batch samples per gradient and worker
 * @param balance {@code equal}: all workers have such batches; {@code speed}: these are shared out
 *     in each round by the speed of the workers
 * @param data {@code shared}: all members have the same samples; {@code own}: each worker trains on
 *     what its node has
 * @param partition divides shared samples so that each worker has some of its own; empty if an
 *     epoch is divided
 * @param sampler {@code distributed}: each worker uses its own share; {@code none}: each shuffles
 *     the whole set
 * @param dropLast whether an epoch's last batch is left out if it is smaller
 * @param threads threads on which one worker computes
 * @param device device on which workers, stages and the evaluator compute
 * @param waitSeconds how long the job waits for members before it fails and names the missing ones
 */
public record WorkersConfig(
    int count,
    int minimum,
    int batch,
    String balance,
    String data,
    Optional<DataPartition> partition,
    String sampler,
    boolean dropLast,
    int threads,
    Device device,
    int waitSeconds) {

  /** Limit of the workers of one job, or of the members of its pipeline. */
  static final int MOST = 4096;

  private static final String SPEED = "speed";
  private static final String OWN = "own";

  static WorkersConfig read(Settings section, Optional<PipelineConfig> pipeline) {
    int members = pipeline.map(PipelineConfig::members).orElse(2);
    Settings agreed = section.with(KeyTrait.AGREED);
    Settings changeable = section.with(KeyTrait.CHANGEABLE);
    int count = agreed.integer("count", members, 1, MOST);
    if (pipeline.isPresent() && count != members) {
      throw section.refuse(
          "count",
          "is %s, expected %s: as many as the pipeline's stages times their replicas; leave it out"
              .formatted(count, members));
    }
    String balance = agreed.choice("balance", "equal", "equal", SPEED);
    Settings shared = balance.equals(SPEED) ? agreed : section;
    WorkersConfig config =
        new WorkersConfig(
            count,
            section.integer("minimum", pipeline.isPresent() ? count : 1, 1, count),
            batch(shared, pipeline.map(PipelineConfig::replicas).orElse(count)),
            balance,
            agreed.choice("data", "shared", "shared", OWN),
            agreed.has("partition")
                ? Optional.of(DataPartition.read(agreed.section("partition")))
                : Optional.empty(),
            agreed.choice("sampler", "distributed", "distributed", "none"),
            agreed.flag("dropLast", false),
            changeable.integer("threads", 1, 1, 1024),
            device(changeable),
            changeable.integer("waitSeconds", 120, 1, 86_400));
    section.refuseUnknown();
    return config;
  }

  /**
   * Returns how many workers may take part at once.
   *
   * @return the number of shares if the data is divided, otherwise a large number
   */
  public int places() {
    return sharesData() ? count : MOST;
  }

  /**
   * Returns how an epoch is sampled.
   *
   * @return true if each worker uses its own share of it, false if each shuffles the whole set
   */
  public boolean sharesData() {
    return sampler.equals("distributed");
  }

  /**
   * Returns whether the samples of a round are shared out by the speed of the workers.
   *
   * @return false if all workers have batches of the same size
   */
  public boolean balancesSpeed() {
    return balance.equals(SPEED);
  }

  /**
   * Returns whether each worker trains on what its node has.
   *
   * @return false if all members have the same samples
   */
  public boolean ownData() {
    return data.equals(OWN);
  }

  /**
   * Returns whether each worker samples a set of its own: what its node has, or its part.
   *
   * @return false if workers share epochs of one set
   */
  public boolean ownSamples() {
    return ownData() || partition.isPresent();
  }

  /**
   * Returns the number of samples of an epoch that one replica of the model uses: with samples of
   * their own that of the mean worker, but with {@link #ownData} all of this node's.
   *
   * @param samples size of the training set
   * @param replicas number of copies of the model that train
   * @return samples
   */
  public long share(long samples, int replicas) {
    return sharesData() && !ownData() ? DistributedSampler.share(samples, replicas) : samples;
  }

  /**
   * Returns the number of batches of one pass of a replica over its share. A smaller last batch
   * counts unless it is left out.
   *
   * @param samples size of the training set
   * @param replicas number of copies of the model that train
   * @return batches, at least 1
   * @throws IllegalArgumentException if the only batch is smaller and left out
   */
  public long batches(long samples, int replicas) {
    requireBatch(samples, replicas);
    long share = share(samples, replicas);
    return dropLast ? share / batch : (share + batch - 1) / batch;
  }

  /**
   * Checks that an epoch of a replica has at least one batch.
   *
   * @param samples size of the training set
   * @param replicas number of copies of the model that train
   * @throws IllegalArgumentException if the only batch of its share is smaller and left out
   */
  public void requireBatch(long samples, int replicas) {
    long share = share(samples, replicas);
    if (dropLast && share < batch) {
      throw new IllegalArgumentException(
          ("workers.batch is %s and workers.dropLast is true, but one's share of an epoch has %s"
                  + " samples: nothing is left; use smaller batches")
              .formatted(batch, share));
    }
  }

  private static Device device(Settings section) {
    String text = section.string("device", Device.PROCESSOR.toString());
    return Device.of(text)
        .orElseThrow(
            () ->
                section.refuse(
                    "device",
                    "is \"%s\", expected cpu, cuda, or cuda:N with the number N of a GPU"
                        .formatted(text)));
  }

  /** Returns the batch of one replica of the model, or its even share of the total batch. */
  private static int batch(Settings section, int replicas) {
    int all = section.integer("totalBatch", 0, 0, 1 << 20);
    boolean shared = all != 0 && !section.has("batch");
    int batch = shared ? Math.max(1, all / replicas) : section.integer("batch", 128, 1, 1 << 20);
    if (all != 0 && (long) batch * replicas != all) {
      throw section.refuse(
          "totalBatch",
          "is %s, expected %s: %s for each of %s workers"
                  .formatted(all, (long) batch * replicas, batch, replicas)
              + (shared ? "" : "; leave workers.batch out to share it evenly"));
    }
    return batch;
  }
}
