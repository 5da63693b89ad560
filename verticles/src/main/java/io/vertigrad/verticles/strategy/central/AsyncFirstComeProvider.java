package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.settings.Settings;
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
    AsyncFirstComeConfig config = AsyncFirstComeConfig.read(settings);
    return StrategyFactory.perGradient(context -> new AsyncFirstCome(config, context));
  }
}
