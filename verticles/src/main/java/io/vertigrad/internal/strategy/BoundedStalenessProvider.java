package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link BoundedStaleness} as {@code ssp}. */
public final class BoundedStalenessProvider implements StrategyProvider {

  @Override
  public String name() {
    return "ssp";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    BoundedStalenessConfig config = BoundedStalenessConfig.read(settings);
    return StrategyFactory.perGradient(context -> new BoundedStaleness(config, context));
  }
}
