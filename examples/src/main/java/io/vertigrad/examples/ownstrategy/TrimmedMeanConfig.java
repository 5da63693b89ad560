package io.vertigrad.examples.ownstrategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;

/**
 * Settings of {@link TrimmedMean}.
 *
 * @param trim values dropped at each end of every coordinate
 * @param deadlineMillis longest time that a gradient waits for the others
 */
record TrimmedMeanConfig(int trim, long deadlineMillis) {

  static TrimmedMeanConfig read(Settings settings) {
    TrimmedMeanConfig config =
        new TrimmedMeanConfig(
            settings.integer("trim", 1, 0, 2048),
            settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, 86_400_000));
    settings.refuseUnknown();
    return config;
  }
}
