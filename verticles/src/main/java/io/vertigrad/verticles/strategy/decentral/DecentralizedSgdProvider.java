package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

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
