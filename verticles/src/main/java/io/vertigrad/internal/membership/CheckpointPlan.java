package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;

/**
 * Which version all members write a checkpoint of, where they do so by time.
 *
 * <p>It lies far enough ahead that every member hears of it before it gets there; one that does not
 * writes none, and the job can go back to the version before. The time between two grows with what
 * writing costs, so that it takes at most one part in {@value #COST} of the time.
 */
final class CheckpointPlan {

  /** What members said last of how far they are may be so old. */
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

  /** Names the next version when it is time; called a few times a second. */
  void look(boolean trains, long nowMillis) {
    if (config.checkpointMillis() == 0 || !config.stepsTogether()) {
      return;
    }
    if (!trains || !begun) {
      begun |= trains;
      // What is named now is written the lead later.
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
    // In a graph of workers one may be as many steps ahead as there are workers.
    ahead += config.servers() == 0 ? config.workers() : 0;
    long every = config.endsEvery();
    long at = (progress.version() + ahead + every - 1) / every * every;
    if (at < config.lastVersion()) {
      pauses.save(at);
    }
    namedMillis = nowMillis;
  }

  /** What all members of one machine, at worst all of them, took for the last one. */
  private long cost() {
    Role holder = config.servers() > 0 ? Role.SERVER : Role.WORKER;
    return registry.of(holder).stream().mapToLong(MemberRecord::saveMillis).sum();
  }
}
