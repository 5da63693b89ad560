package io.vertigrad.internal.strategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.strategy.ServerStrategyContext;

/** One gradient as one optimizer step, with the age it has on arrival. */
final class SingleUpdate {

  private final ServerStrategyContext context;
  private float[] scratch;

  SingleUpdate(ServerStrategyContext context) {
    this.context = context;
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
}
