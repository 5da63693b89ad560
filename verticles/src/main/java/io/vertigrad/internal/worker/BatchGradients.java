package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** The gradients of a whole model, batch after batch. */
final class BatchGradients implements GradientSource {

  private final Model model;
  private final Supplier<BatchSource> batches;
  private final LongSupplier nanoClock;
  private final SpanRecorder track;

  /**
   * @param batches opens them when the first is needed
   */
  BatchGradients(
      Model model, Supplier<BatchSource> batches, LongSupplier nanoClock, SpanRecorder track) {
    this.model = model;
    this.batches = batches;
    this.nanoClock = nanoClock;
    this.track = track;
  }

  @Override
  public Computed compute(long version, long step) {
    long start = nanoClock.getAsLong();
    Batch batch = batches.get().next();
    long ready = nanoClock.getAsLong();
    double loss = model.gradient(batch);
    long computed = nanoClock.getAsLong();
    track.span("data", start, ready, step);
    track.span("compute", ready, computed, step);
    return new Computed(
        batch.epoch(),
        batch.count(),
        batch.count(),
        loss,
        model.correct(),
        ready - start,
        computed - ready,
        0);
  }
}
