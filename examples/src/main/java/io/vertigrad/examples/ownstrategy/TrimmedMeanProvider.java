package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.StrategyContext;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link TrimmedMean} as {@code trimmed-mean}; named in META-INF/services. */
public final class TrimmedMeanProvider implements StrategyProvider {

  @Override
  public String name() {
    return "trimmed-mean";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    return new Factory(TrimmedMeanConfig.read(settings));
  }

  private record Factory(TrimmedMeanConfig config) implements StrategyFactory {

    @Override
    public ExchangeStrategy create(StrategyContext context) {
      return new TrimmedMean(config, context);
    }

    @Override
    public long lastVersion(long steps, int workers) {
      return steps;
    }

    @Override
    public boolean lockstep() {
      return true;
    }
  }
}
