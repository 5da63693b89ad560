package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.job.PipelineConfig;
import java.util.function.LongFunction;

/** The batch of each step, however often a job goes back to an earlier one. */
final class StepBatches implements AutoCloseable {

  private final LongFunction<BatchSource> open;
  private final String name;
  private final BatchSizes sizes;
  private final boolean needed;
  private BatchSource source;
  private long next;

  /**
   * No batch yet.
   *
   * @param open opens the same batches from a step on
   * @param rank whose stage is fed
   */
  StepBatches(LongFunction<BatchSource> open, PipelineConfig pipeline, int rank, BatchSizes sizes) {
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

  /** Going back, or on to a step that is not the next, opens the source again. */
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
