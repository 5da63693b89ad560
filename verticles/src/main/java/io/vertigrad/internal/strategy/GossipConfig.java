package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;

/**
 * Settings of {@link Gossip}.
 *
 * @param seed of the choice of partners
 */
record GossipConfig(long seed) {

  static GossipConfig read(Settings settings) {
    GossipConfig config = new GossipConfig(settings.longInteger("seed", 0, 0, Long.MAX_VALUE));
    settings.refuseUnknown();
    return config;
  }
}
