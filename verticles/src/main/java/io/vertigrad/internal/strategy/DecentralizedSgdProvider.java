package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

/** Registers {@link DecentralizedSgd} as {@code dpsgd}. */
public final class DecentralizedSgdProvider implements StrategyProvider {

  @Override
  public String name() {
    return "dpsgd";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    DecentralizedSgdConfig config = DecentralizedSgdConfig.read(settings);
    return (PeerStrategyFactory) context -> new DecentralizedSgd(config, context);
  }
}
