package io.vertigrad.strategies;

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
    context.store().apply(gradient(update), weight, update.samples());
  }

  /** Returns a copy of the gradient, valid until the next call. */
  float[] gradient(GradientPartition update) {
    scratch = scratch == null ? new float[context.partition().length()] : scratch;
    update.gradient().copyTo(scratch, 0);
    return scratch;
  }
}
