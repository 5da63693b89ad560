package io.vertigrad.internal.pipeline;

import io.vertigrad.job.WorkersConfig;

/**
 * How many samples each step's batch has, for stages that see no data.
 *
 * @param share samples of an epoch that one replica sees
 * @param batch samples of a full batch; an epoch's last one may be smaller, or left out
 */
record BatchSizes(long share, int batch) {

  /**
   * The sizes of a replica's batches.
   *
   * @throws IllegalArgumentException when every batch of an epoch is smaller and left out
   */
  static BatchSizes of(long samples, int replicas, WorkersConfig workers) {
    workers.requireBatch(samples, replicas);
    long share = workers.share(samples, replicas);
    int batch = workers.batch();
    return new BatchSizes(workers.dropLast() ? share - share % batch : share, batch);
  }

  /** Samples of the batch of a step. */
  int of(long step) {
    long perEpoch = (share + batch - 1) / batch;
    return step % perEpoch == perEpoch - 1 ? (int) (share - (perEpoch - 1) * batch) : batch;
  }

  /** Passes over the share before a step. */
  int epoch(long step) {
    return (int) (step / ((share + batch - 1) / batch));
  }

  /** First sample of a micro-batch; that of the one after the last is the batch's size. */
  static int first(int samples, int microBatch, int microBatches) {
    return (int) ((long) samples * microBatch / microBatches);
  }
}
