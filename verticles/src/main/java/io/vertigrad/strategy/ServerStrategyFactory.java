package io.vertigrad.strategy;

import java.util.function.Function;

/**
 * A configured strategy that runs beside the servers, with a rule of its own for each partition.
 * {@link StrategyFactory#inRounds} and {@link StrategyFactory#perGradient} make one.
 *
 * @param lockstep true when workers move in rounds, false when each gradient is an update of its
 *     own
 * @param needsEveryRank true when a round closes only with a gradient of every rank that the job is
 *     shared out to
 * @param rule makes the rule of one partition; called once for each partition of a shard, on the
 *     shard's thread
 */
public record ServerStrategyFactory(
    boolean lockstep, boolean needsEveryRank, Function<ServerStrategyContext, ServerStrategy> rule)
    implements StrategyFactory {

  /**
   * Makes the rule of one partition.
   *
   * @param context what the rule is given
   * @return a rule that has seen no update
   */
  public ServerStrategy create(ServerStrategyContext context) {
    return rule.apply(context);
  }

  @Override
  public long lastVersion(long steps, int workers) {
    return lockstep ? steps : Math.multiplyExact(steps, workers);
  }
}
