package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;

/**
 * Settings of {@link LocalSgd}.
 *
 * @param every steps between two averages
 */
record LocalSgdConfig(long every) {

  static LocalSgdConfig read(Settings settings) {
    LocalSgdConfig config = new LocalSgdConfig(settings.longInteger("every", 10, 1, 1_000_000_000));
    settings.refuseUnknown();
    return config;
  }
}
