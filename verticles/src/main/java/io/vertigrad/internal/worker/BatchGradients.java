package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;

/** Computes the gradients of a whole model; each step uses the batch that belongs to it. */
final class BatchGradients implements GradientSource {

  private final Model model;
  private final LongFunction<Batch> batches;
  private final BatchNumber number;
  private final LongSupplier nanoClock;
  private final SpanRecorder track;

  /** The number that selects a rank's batch. */
  enum BatchNumber {
    /** The version of the parameters. In lockstep without servers it equals every worker's step. */
    VERSION,
    /** The worker's own step. With servers, versions may run ahead of it. */
    STEP
  }

  /**
   * Creates the gradient source of one rank.
   *
   * @param batches returns the batch with a given number
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
