package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;

/**
 * Settings of {@link SyncGather}.
 *
 * @param reduction how gradients of one round become one
 * @param quorum gradients that close a round; 0 for all active workers
 * @param deadlineMillis longest a gradient waits for the others
 */
record SyncGatherConfig(Reduction reduction, int quorum, long deadlineMillis) {

  /** How gradients of one round become one. */
  enum Reduction {
    /** Their plain sum: the effective learning rate grows with the number of workers. */
    SUM,
    /** Their mean, weighted by training samples. */
    MEAN
  }

  SyncGatherConfig {
    if (quorum < 0 || deadlineMillis < 1) {
      throw new IllegalArgumentException(
          "quorum %d, deadline %d ms: expected at least 0 and 1".formatted(quorum, deadlineMillis));
    }
  }

  static SyncGatherConfig read(Settings settings) {
    String reduction = settings.choice("reduction", "mean", "sum", "mean");
    SyncGatherConfig config =
        new SyncGatherConfig(
            reduction.equals("sum") ? Reduction.SUM : Reduction.MEAN,
            settings.integer("quorum", 0, 0, 4096),
            settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, 86_400_000));
    settings.refuseUnknown();
    return config;
  }
}
