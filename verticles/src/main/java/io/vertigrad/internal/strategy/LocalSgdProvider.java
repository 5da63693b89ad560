package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

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
