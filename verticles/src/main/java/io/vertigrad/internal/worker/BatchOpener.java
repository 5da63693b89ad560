package io.vertigrad.internal.worker;

import io.vertigrad.compute.data.BatchSource;

/** Opens the batches of a logical rank at any step. */
@FunctionalInterface
public interface BatchOpener {

  /**
   * Opens the batches of a rank. The batch of (rank, step) depends only on the job's seed, not on
   * the process that opens it or the time.
   *
   * @param rank the logical rank whose share of the data to read, from 0
   * @param firstBatch step of the first batch that the source returns, from 0
   * @return a source, which the caller must close
   */
  BatchSource open(int rank, long firstBatch);
}
