package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link SyncGather} as {@code sync}. */
public final class SyncGatherProvider implements StrategyProvider {

  @Override
  public String name() {
    return "sync";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    SyncGatherConfig config = SyncGatherConfig.read(settings);
    return StrategyFactory.inRounds(context -> SyncGather.of(config, context));
  }
}
