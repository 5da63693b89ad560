package io.vertigrad.internal.worker;

import io.vertigrad.compute.data.BatchSource;
import java.util.function.IntFunction;

/** The batches of the rank a worker has now; another rank's are opened when it changes. */
final class BatchesOfRank implements AutoCloseable {

  private final IntFunction<BatchSource> data;
  private int rank = -1;
  private BatchSource batches;

  /**
   * @param data opens the batches of a rank
   */
  BatchesOfRank(IntFunction<BatchSource> data) {
    this.data = data;
  }

  BatchSource of(int wanted) {
    if (batches == null || rank != wanted) {
      close();
      batches = data.apply(wanted);
      rank = wanted;
    }
    return batches;
  }

  @Override
  public void close() {
    if (batches != null) {
      batches.close();
      batches = null;
    }
  }
}
