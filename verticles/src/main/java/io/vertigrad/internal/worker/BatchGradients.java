package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/** The gradients of a whole model, each of the batch that belongs to its step. */
final class BatchGradients implements GradientSource {

  private final Model model;
  private final LongFunction<Batch> batches;
  private final BatchNumber number;
  private final LongSupplier nanoClock;
  private final SpanRecorder track;

  /** By what a rank's batches are numbered. */
  enum BatchNumber {
    /** The version of the parameters: in lockstep without servers it is every worker's step. */
    VERSION,
    /** The worker's own step: beside servers versions may run ahead of it. */
    STEP
  }

  /**
   * Creates the gradients of one rank.
   *
   * @param batches gives the batch of a number
   */
  BatchGradients(
      Model model,
      LongFunction<Batch> batches,
      BatchNumber number,
      LongSupplier nanoClock,
      SpanRecorder track) {
    this.model = model;
    this.batches = batches;
    this.number = number;
    this.nanoClock = nanoClock;
    this.track = track;
  }

  @Override
  public Computed compute(long version, long step) {
    return compute(version, step, model::gradient);
  }

  @Override
  public Computed compute(long version, long step, ParameterExchange.Overlap overlap) {
    return compute(
        version,
        step,
        batch -> {
          overlap.begin(batch.count());
          return model.gradient(batch, overlap);
        });
  }

  private Computed compute(long version, long step, ToDoubleFunction<Batch> gradient) {
    long start = nanoClock.getAsLong();
    Batch batch = batches.apply(number == BatchNumber.VERSION ? version : step);
    long ready = nanoClock.getAsLong();
    double loss = gradient.applyAsDouble(batch);
    long computed = nanoClock.getAsLong();
    track.span("data", start, ready, step);
    track.span("compute", ready, computed, step);
    return new Computed(
        batch.epoch(),
        batch.count(),
        batch.count(),
        loss,
        GradientSource.share(model.correct(), model.answers()),
        ready - start,
        computed - ready,
        0);
  }
}
