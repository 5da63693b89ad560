package io.vertigrad.internal.strategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.strategy.ServerStrategyContext;

/** Applies one gradient as one optimizer step and computes its staleness. */
final class SingleUpdate {

  private final ServerStrategyContext context;
  private float[] scratch;

  SingleUpdate(ServerStrategyContext context) {
    this.context = context;
  }

  /** Returns the number of updates applied since the version at which the gradient was computed. */
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
