package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;

/**
 * Returns the batch of any (rank, step), in any order. Consecutive steps of a rank are read from
 * one open source. Another rank, a repeated step or a skipped step opens a new source.
 */
final class BatchesOfRank implements AutoCloseable {

  private final BatchOpener data;
  private BatchSource source;
  private int rank;
  private long next;

  /**
   * Creates an instance that has no open source.
   *
   * @param data opens the batches of a rank
   */
  BatchesOfRank(BatchOpener data) {
    this.data = data;
  }

  /**
   * Returns the batch of a step. Blocks until the batch is ready.
   *
   * @param wantedRank from 0
   * @param step number of the batch in the run of this rank, from 0
   * @return the batch, which belongs to the caller
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
