package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.verticles.strategy.StrategyFactory;
import io.vertigrad.verticles.strategy.StrategyProvider;

/** Registers {@link Gossip} as {@code gossip}. */
public final class GossipProvider implements StrategyProvider {

  @Override
  public String name() {
    return "gossip";
  }

  @Override
  public StrategyFactory configure(Settings settings) {
    GossipConfig config = GossipConfig.read(settings);
    return new Factory(config);
  }

  private record Factory(GossipConfig config) implements PeerStrategyFactory {

    @Override
    public PeerStrategy create(PeerContext context) {
      return new Gossip(config, context);
    }

    /** A worker that takes no step still answers. */
    @Override
    public boolean stepsTogether() {
      return false;
    }
  }
}
