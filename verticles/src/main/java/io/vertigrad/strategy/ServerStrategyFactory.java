package io.vertigrad.strategy;

import java.util.function.Function;

/**
 * A configured strategy that runs beside the servers, with a separate rule for each partition.
 * Create it with {@link StrategyFactory#inRounds} or {@link StrategyFactory#perGradient}.
 *
 * @param lockstep true when workers move in rounds, false when each gradient is an update of its
 *     own
 * @param needsEveryRank true when a round closes only with a gradient of every rank that the job's
 *     work is divided among
 * @param rule creates the rule of one partition; called once for each partition of a shard, on the
 *     shard's thread
 */
public record ServerStrategyFactory(
    boolean lockstep, boolean needsEveryRank, Function<ServerStrategyContext, ServerStrategy> rule)
    implements StrategyFactory {

  /**
   * Creates the rule of one partition.
   *
   * @param context the rule's environment
   * @return a rule without updates
   */
  public ServerStrategy create(ServerStrategyContext context) {
    return rule.apply(context);
  }

  @Override
  public long lastVersion(long steps, int workers) {
    return lockstep ? steps : Math.multiplyExact(steps, workers);
  }
}
