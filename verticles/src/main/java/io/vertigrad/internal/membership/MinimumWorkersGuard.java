package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.job.Role;

/**
 * Holds a job back while it has fewer workers than {@code workers.minimum}, or than a step needs,
 * so that no step averages over too few.
 *
 * <p>It does nothing when no worker is left, nor in a pipeline, whose stages wait for each other
 * anyway.
 */
final class MinimumWorkersGuard {

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final JobLifecycle lifecycle;
  private final Pauses pauses;
  private final CoordinatorEvents news;
  private boolean lasts;

  MinimumWorkersGuard(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      JobLifecycle lifecycle,
      Pauses pauses,
      CoordinatorEvents news) {
    this.config = config;
    this.registry = registry;
    this.progress = progress;
    this.lifecycle = lifecycle;
    this.pauses = pauses;
    this.news = news;
  }

  /** Returns whether workers are held back because there are too few. */
  boolean lasts() {
    return lasts;
  }

  /** Counts the workers; called after every change. */
  void look() {
    long present = registry.readyWorkers();
    boolean few =
        config.waitsForMore()
            && lifecycle.running()
            && !lifecycle.ending()
            && !progress.anyFinished()
            && present > 0
            && present < config.minimumWorkers();
    if (few && !lasts) {
      news.stalled(
          progress.version(),
          0,
          registry.missing(Role.WORKER, config.workers()),
          "%d of at least %d workers (%s), none begins another step until more are there"
              .formatted(present, config.minimumWorkers(), config.whyMinimum()),
          registry.departures().toString());
    }
    if (few != lasts) {
      lasts = few;
      pauses.few(few);
    }
  }
}
