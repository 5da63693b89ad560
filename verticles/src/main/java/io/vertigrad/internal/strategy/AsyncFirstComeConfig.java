package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;

/**
 * Settings of {@link AsyncFirstCome}.
 *
 * @param damping how a gradient's weight falls with its staleness
 * @param bound largest staleness that is applied; {@link Integer#MAX_VALUE} for any
 */
record AsyncFirstComeConfig(Damping damping, int bound) {

  /** How a gradient's weight falls with its staleness. */
  enum Damping {
    /** Not at all. */
    NONE,
    /** As 1 / (1 + staleness). */
    INVERSE
  }

  AsyncFirstComeConfig {
    if (bound < 0) {
      throw new IllegalArgumentException("bound %d: expected at least 0".formatted(bound));
    }
  }

  static AsyncFirstComeConfig read(Settings settings) {
    String damping = settings.choice("damping", "none", "none", "inverse");
    AsyncFirstComeConfig config =
        new AsyncFirstComeConfig(
            damping.equals("inverse") ? Damping.INVERSE : Damping.NONE,
            settings.integer("bound", Integer.MAX_VALUE, 0, Integer.MAX_VALUE));
    settings.refuseUnknown();
    return config;
  }

  /** Factor on a gradient that is {@code staleness} updates old. */
  float weight(int staleness) {
    return damping == Damping.INVERSE ? 1f / (1f + staleness) : 1f;
  }
}
