package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.StrategyContext;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link SyncGather} as {@code sync}. */
public final class SyncGatherProvider implements StrategyProvider {

  @Override
  public String name() {
    return "sync";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    return new Factory(SyncGatherConfig.read(settings));
  }

  private record Factory(SyncGatherConfig config) implements StrategyFactory {

    @Override
    public ExchangeStrategy create(StrategyContext context) {
      return new SyncGather(config, context);
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
