package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

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
