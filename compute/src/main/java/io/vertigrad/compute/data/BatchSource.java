package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;

/** An endless sequence of training batches, epoch after epoch. */
public interface BatchSource extends AutoCloseable {

  /**
   * Returns the next batch; waits for the prefetching thread if necessary.
   *
   * @return the batch, which belongs to the caller
   */
  Batch next();

  @Override
  void close();
}
