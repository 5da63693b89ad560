package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.job.PipelineConfig;
import java.util.function.LongFunction;

/** Reads the batch of each step, however often a job goes back to an earlier step. */
final class StepBatches implements AutoCloseable {

  private final LongFunction<BatchSource> open;
  private final String name;
  private final BatchSizes sizes;
  private final boolean needed;
  private BatchSource source;
  private long next;

  /**
   * Creates a reader that has opened nothing yet.
   *
   * @param open opens the same sequence of batches, starting at a step
   * @param rank rank of the member whose stage reads the batches
   */
  StepBatches(LongFunction<BatchSource> open, PipelineConfig pipeline, int rank, BatchSizes sizes) {
    this.open = open;
    this.name = pipeline.name(rank);
    this.sizes = sizes;
    int stage = pipeline.stageOf(rank);
    this.needed = stage == 0 || stage == pipeline.stages() - 1;
  }

  /**
   * Returns the batch of a step for the first stage, which needs its features, and the last, which
   * needs its labels; null for the others.
   */
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

  /** Reads a batch. Opens the source again when the step is not the next one. */
  private Batch read(long step) {
    if (source == null || step != next) {
      close();
      source = open.apply(step);
    }
    Batch batch = source.next();
    next = step + 1;
    return batch;
  }
}
