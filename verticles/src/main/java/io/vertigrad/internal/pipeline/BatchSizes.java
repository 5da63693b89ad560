package io.vertigrad.internal.pipeline;

import io.vertigrad.job.WorkersConfig;

/**
 * The number of samples in each step's batch, for stages that read no data.
 *
 * @param share number of samples of an epoch that one replica reads
 * @param batch samples of a full batch; an epoch's last batch may be smaller or left out
 */
record BatchSizes(long share, int batch) {

  /**
   * Returns the sizes of a replica's batches.
   *
   * @throws IllegalArgumentException when every batch of an epoch is too small and left out
   */
  static BatchSizes of(long samples, int replicas, WorkersConfig workers) {
    workers.requireBatch(samples, replicas);
    long share = workers.share(samples, replicas);
    int batch = workers.batch();
    return new BatchSizes(workers.dropLast() ? share - share % batch : share, batch);
  }

  /** Returns the number of samples in the batch of a step. */
  int of(long step) {
    long perEpoch = (share + batch - 1) / batch;
    return step % perEpoch == perEpoch - 1 ? (int) (share - (perEpoch - 1) * batch) : batch;
  }

  /** Returns how many passes over the share are complete before a step. */
  int epoch(long step) {
    return (int) (step / ((share + batch - 1) / batch));
  }

  /**
   * Returns the index of the first sample of a micro-batch; for {@code microBatches} it is the size
   * of the batch.
   */
  static int first(int samples, int microBatch, int microBatches) {
    return (int) ((long) samples * microBatch / microBatches);
  }
}
