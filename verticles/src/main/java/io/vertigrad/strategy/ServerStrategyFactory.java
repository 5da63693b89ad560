package io.vertigrad.strategy;

import java.util.function.Function;

/**
 * A rule beside a server, in rounds of all workers or one gradient at a time.
 *
 * @param lockstep in rounds
 * @param rule makes the rule of one partition
 */
record ServerStrategyFactory(boolean lockstep, Function<ServerStrategyContext, ServerStrategy> rule)
    implements StrategyFactory {

  @Override
  public ServerStrategy create(ServerStrategyContext context) {
    return rule.apply(context);
  }

  @Override
  public long lastVersion(long steps, int workers) {
    return lockstep ? steps : Math.multiplyExact(steps, workers);
  }
}
