package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link AsyncFirstCome} as {@code async}. */
public final class AsyncFirstComeProvider implements StrategyProvider {

  @Override
  public String name() {
    return "async";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    AsyncFirstComeConfig config = AsyncFirstComeConfig.read(settings);
    return StrategyFactory.perGradient(context -> new AsyncFirstCome(config, context));
  }
}
