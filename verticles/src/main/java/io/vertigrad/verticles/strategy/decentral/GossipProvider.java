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
    return (PeerStrategyFactory) context -> new Gossip(config, context);
  }
}
