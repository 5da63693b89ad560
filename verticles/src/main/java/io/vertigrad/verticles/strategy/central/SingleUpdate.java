package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.verticles.strategy.StrategyContext;

/** One gradient as one optimizer step, with the age it has on arrival. */
final class SingleUpdate {

  private final StrategyContext context;
  private float[] scratch;

  SingleUpdate(StrategyContext context) {
    this.context = context;
  }

  /** True when the gradient claims a version that was never reached here. */
  boolean isFromTheFuture(GradientPartition update) {
    return update.version() > context.store().version();
  }

  /** Updates applied since the version the gradient was computed at. */
  int staleness(GradientPartition update) {
    long age = context.store().version() - update.version();
    return (int) Math.min(age, Integer.MAX_VALUE);
  }

  void apply(GradientPartition update, float weight) {
    scratch = scratch == null ? new float[context.partition().length()] : scratch;
    update.gradient().copyTo(scratch, 0);
    context.store().apply(scratch, weight, update.samples());
  }

  Refusal refusal(GradientPartition update) {
    String message =
        "partition %d: found a gradient of worker %d at version %d, expected at most %d; pull again"
            .formatted(
                update.id().partition(),
                update.id().worker(),
                update.version(),
                context.store().version());
    return new Refusal(update.id(), Reason.PROTOCOL, message);
  }
}
