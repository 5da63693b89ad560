package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;

/**
 * The batch of each (rank, step), whichever was asked for before. Steps in a row are read from one
 * source; another rank, a step that is repeated and one that is passed over open it anew.
 */
final class BatchesOfRank implements AutoCloseable {

  private final BatchOpener data;
  private BatchSource source;
  private int rank;
  private long next;

  /**
   * Creates an instance that has opened nothing.
   *
   * @param data opens the batches of a rank
   */
  BatchesOfRank(BatchOpener data) {
    this.data = data;
  }

  /**
   * Returns the batch of a step; waits for it when it is not ready.
   *
   * @param wantedRank from 0
   * @param step number of the batch in the run of this rank, from 0
   * @return the batch, which is the caller's
   */
  Batch of(int wantedRank, long step) {
    if (source == null || rank != wantedRank || next != step) {
      close();
      source = data.open(wantedRank, step);
      rank = wantedRank;
    }
    Batch batch = source.next();
    next = step + 1;
    return batch;
  }

  @Override
  public void close() {
    if (source != null) {
      source.close();
      source = null;
    }
  }
}
