package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;

/** An endless supply of training batches, epoch after epoch. */
public interface BatchSource extends AutoCloseable {

  /**
   * The next batch; waits for the prefetching thread when it is behind.
   *
   * @return the batch, which is the caller's
   */
  Batch next();

  @Override
  void close();
}
