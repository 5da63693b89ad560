package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.StrategyContext;
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
    return new Factory(BoundedStalenessConfig.read(settings));
  }

  private record Factory(BoundedStalenessConfig config) implements StrategyFactory {

    @Override
    public ExchangeStrategy create(StrategyContext context) {
      return new BoundedStaleness(config, context);
    }

    @Override
    public long lastVersion(long steps, int workers) {
      return Math.multiplyExact(steps, workers);
    }

    @Override
    public boolean lockstep() {
      return false;
    }
  }
}
