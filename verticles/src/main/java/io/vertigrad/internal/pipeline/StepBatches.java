package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.job.PipelineConfig;
import java.util.function.Supplier;

/** The batch of each step, however often a job goes back to an earlier one. */
final class StepBatches implements AutoCloseable {

  private final Supplier<BatchSource> open;
  private final String name;
  private final BatchSizes sizes;
  private final boolean needed;
  private BatchSource source;
  private long next;

  /**
   * No batch yet.
   *
   * @param open opens the same batches from the first one on
   * @param rank whose stage is fed
   */
  StepBatches(Supplier<BatchSource> open, PipelineConfig pipeline, int rank, BatchSizes sizes) {
    this.open = open;
    this.name = pipeline.name(rank);
    this.sizes = sizes;
    int stage = pipeline.stageOf(rank);
    this.needed = stage == 0 || stage == pipeline.stages() - 1;
  }

  /** The first stage needs a step's features, the last one its labels, the others null. */
  Batch of(long step) {
    if (!needed) {
      return null;
    }
    Batch batch = read(step);
    if (batch.count() != sizes.of(step)) {
      throw StageErrors.unexpected(name, step, batch.count(), sizes.of(step));
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

  /** Going back opens the source again and skips what came before. */
  private Batch read(long step) {
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
}
