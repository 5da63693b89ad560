package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;

/**
 * Chooses the version at which all members write a checkpoint, when checkpoints are timed.
 *
 * <p>The version lies far enough ahead that every member knows it before it gets there. A member
 * that learns of it too late writes none, and the job can then go back to the checkpoint before.
 * The interval grows with the cost of writing, which takes at most one part in {@value #COST} of
 * the time.
 */
final class CheckpointPlan {

  /** Greatest age of the progress that members last reported. */
  private static final long LEAD_MILLIS = 2_000;

  private static final long COST = 50;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final Pauses pauses;
  private boolean begun;
  private long namedMillis;
  private long lookedMillis;
  private long lookedVersion;
  private double versionsPerMilli;

  CheckpointPlan(
      CoordinatorConfig config, MemberRegistry registry, JobProgress progress, Pauses pauses) {
    this.config = config;
    this.registry = registry;
    this.progress = progress;
    this.pauses = pauses;
  }

  /** Chooses the next version when it is time; called a few times a second. */
  void look(boolean trains, long nowMillis) {
    if (config.checkpointMillis() == 0 || !config.stepsTogether()) {
      return;
    }
    if (!trains || !begun) {
      begun |= trains;
      // The version chosen now is written {@code LEAD_MILLIS} later, so the interval starts
      // earlier.
      namedMillis = nowMillis - LEAD_MILLIS;
      begin(nowMillis);
      return;
    }
    if (nowMillis - lookedMillis >= LEAD_MILLIS) {
      versionsPerMilli =
          Math.max(0, progress.version() - lookedVersion) / (double) (nowMillis - lookedMillis);
      begin(nowMillis);
    }
    long least = Math.max(config.checkpointMillis(), COST * cost());
    if (nowMillis - namedMillis >= least && versionsPerMilli > 0) {
      name(nowMillis);
    }
  }

  private void begin(long nowMillis) {
    lookedMillis = nowMillis;
    lookedVersion = progress.version();
  }

  private void name(long nowMillis) {
    long ahead = 2 + (long) Math.ceil(versionsPerMilli * LEAD_MILLIS);
    // Without servers a worker may be as many steps ahead as there are workers.
    ahead += config.servers() == 0 ? config.workers() : 0;
    long every = config.endsEvery();
    long at = (progress.version() + ahead + every - 1) / every * every;
    if (at < config.lastVersion()) {
      pauses.save(at);
    }
    namedMillis = nowMillis;
  }

  /** Returns the time of the last checkpoint in ms, summed as if all members shared one machine. */
  private long cost() {
    Role holder = config.servers() > 0 ? Role.SERVER : Role.WORKER;
    return registry.of(holder).stream().mapToLong(MemberRecord::saveMillis).sum();
  }
}
