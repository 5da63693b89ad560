package io.vertigrad.internal.worker;

import io.vertigrad.compute.data.BatchSource;

/** Opens the batches of a logical rank at any step. */
@FunctionalInterface
public interface BatchOpener {

  /**
   * Opens the batches of a rank. The batch of (rank, step) is a function of the job's seed, whoever
   * opens it and when.
   *
   * @param rank among those that the data is divided among, from 0
   * @param firstBatch step whose batch the source gives first, from 0
   * @return a source to be closed
   */
  BatchSource open(int rank, long firstBatch);
}
