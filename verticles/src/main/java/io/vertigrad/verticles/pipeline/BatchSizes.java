package io.vertigrad.verticles.pipeline;

/**
 * How many samples each step's batch has, for stages that see no data.
 *
 * @param share samples of an epoch that one replica sees
 * @param batch samples of a full batch; an epoch's last one may be smaller
 */
record BatchSizes(long share, int batch) {

  static BatchSizes of(long samples, int replicas, boolean shared, int batch) {
    return new BatchSizes(shared ? (samples + replicas - 1) / replicas : samples, batch);
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
