package io.vertigrad.internal.strategy;

import io.vertigrad.compute.Block;
import io.vertigrad.internal.strategy.SyncGatherConfig.Reduction;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;

/**
 * A {@link Barrier} that takes one step with the sum or mean of the workers' gradients.
 *
 * <p>{@code p <- step(p, sum_i g_i)} or {@code p <- step(p, sum_i n_i g_i / sum_i n_i)}, always in
 * rank order, so that a run repeats bit for bit whatever the order of arrival. Statistics are
 * always averaged.
 *
 * <p>Memory: one array for the sum, and the gradients that arrived before a lower rank's (with a
 * quorum: all of the round); these are unanswered, so each worker's window bounds them.
 *
 * <p>The gradient of a worker that leaves stays in the open round if it was summed already and is
 * dropped if not.
 */
final class SyncGather {

  private SyncGather() {}

  static ServerStrategy of(SyncGatherConfig config, ServerStrategyContext context) {
    boolean mean =
        config.reduction() == Reduction.MEAN || context.partition().kind() == Block.Kind.STATISTIC;
    return Barrier.summing("sync", config.quorum(), config.deadlineMillis(), context, mean);
  }
}
