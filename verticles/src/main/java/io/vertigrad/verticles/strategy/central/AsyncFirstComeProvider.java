package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.StrategyContext;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link AsyncFirstCome} as {@code async}. */
public final class AsyncFirstComeProvider implements StrategyProvider {

  @Override
  public String name() {
    return "async";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    return new Factory(AsyncFirstComeConfig.read(settings));
  }

  private record Factory(AsyncFirstComeConfig config) implements StrategyFactory {

    @Override
    public ExchangeStrategy create(StrategyContext context) {
      return new AsyncFirstCome(config, context);
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
