package io.vertigrad.verticles.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import java.util.function.Supplier;

/** The batch of each step, however often a job goes back to an earlier one. */
final class StepBatches implements AutoCloseable {

  private final Supplier<BatchSource> open;
  private BatchSource source;
  private long next;

  /**
   * No batch yet.
   *
   * @param open opens the same batches from the first one on
   */
  StepBatches(Supplier<BatchSource> open) {
    this.open = open;
  }

  /** The batch of a step; going back opens the source again and skips what came before. */
  Batch of(long step) {
    if (source == null || step < next) {
      close();
      source = open.get();
      next = 0;
    }
    Batch batch = null;
    for (; next <= step; next++) {
      batch = source.next();
    }
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
