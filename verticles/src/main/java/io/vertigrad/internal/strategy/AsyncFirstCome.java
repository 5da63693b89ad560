package io.vertigrad.internal.strategy;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.Block;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;

/**
 * Takes one step with every gradient as it comes and answers that worker at once.
 *
 * <p>{@code p <- step(p, w(t) g)} where staleness {@code t} is the version of the parameters minus
 * the version the gradient was computed at, and {@code w} is 1 or {@code 1 / (1 + t)} (inverse
 * damping, after Zhang et al., "Staleness-aware async-SGD", 2016). Statistics are never damped.
 *
 * <p>Nobody ever waits. Memory: one scratch array.
 */
final class AsyncFirstCome implements ServerStrategy {

  private final AsyncFirstComeConfig config;
  private final ServerStrategyContext context;
  private final SingleUpdate single;

  AsyncFirstCome(AsyncFirstComeConfig config, ServerStrategyContext context) {
    this.config = config;
    this.context = context;
    this.single = new SingleUpdate(context);
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    int staleness = single.staleness(update);
    if (staleness > config.bound()) {
      return Future.succeededFuture(
          context.answers().parameters(update.id(), Outcome.TOO_STALE, staleness));
    }
    boolean statistic = context.partition().kind() == Block.Kind.STATISTIC;
    single.apply(update, statistic ? 1f : config.weight(staleness));
    return Future.succeededFuture(
        context.answers().parameters(update.id(), Outcome.APPLIED, staleness));
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public boolean appliesAtOnce() {
    return true;
  }

  @Override
  public void membershipChanged(Membership now) {}

  @Override
  public void tick(long nowNanos) {}

  @Override
  public void close(String why) {}
}
