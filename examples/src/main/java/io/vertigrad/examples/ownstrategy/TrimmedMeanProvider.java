package io.vertigrad.examples.ownstrategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link TrimmedMean} as {@code trimmed-mean}; named in META-INF/services. */
public final class TrimmedMeanProvider implements StrategyProvider {

  @Override
  public String name() {
    return "trimmed-mean";
  }

  /** Returns the rule inside a barrier that waits for every active worker. */
  @Override
  public StrategyFactory configure(Settings settings) {
    TrimmedMeanConfig config = TrimmedMeanConfig.read(settings);
    TrimmedMean rule = new TrimmedMean(config.trim());
    return StrategyFactory.inRounds(
        context -> Barrier.keepingAll(name(), config.deadlineMillis(), context, rule));
  }
}
