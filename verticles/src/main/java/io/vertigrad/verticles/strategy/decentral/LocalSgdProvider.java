package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link LocalSgd} as {@code local}. */
public final class LocalSgdProvider implements StrategyProvider {

  @Override
  public String name() {
    return "local";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    LocalSgdConfig config = LocalSgdConfig.read(settings);
    return new Factory(config);
  }

  private record Factory(LocalSgdConfig config) implements PeerStrategyFactory {

    @Override
    public PeerStrategy create(PeerContext context) {
      return new LocalSgd(config, context);
    }

    @Override
    public long agreesEvery() {
      return config.every();
    }
  }
}
