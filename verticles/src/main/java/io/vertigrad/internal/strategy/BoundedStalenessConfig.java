package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;

/**
 * Settings of {@link BoundedStaleness}.
 *
 * @param staleness steps a worker may be ahead of the slowest
 * @param deadlineMillis longest a worker waits for the slowest
 */
record BoundedStalenessConfig(int staleness, long deadlineMillis) {

  BoundedStalenessConfig {
    if (staleness < 0 || deadlineMillis < 1) {
      throw new IllegalArgumentException(
          "staleness %d, deadline %d ms: expected at least 0 and 1"
              .formatted(staleness, deadlineMillis));
    }
  }

  static BoundedStalenessConfig read(Settings settings) {
    BoundedStalenessConfig config =
        new BoundedStalenessConfig(
            settings.integer("staleness", 3, 0, 1_000_000),
            settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, 86_400_000));
    settings.refuseUnknown();
    return config;
  }
}
