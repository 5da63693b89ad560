package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;

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
