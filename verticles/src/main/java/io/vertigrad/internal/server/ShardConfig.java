package io.vertigrad.internal.server;

/**
 * The settings that a shard takes from its job.
 *
 * @param job hash of the job's name
 * @param incarnation of this server; part of every answer
 * @param ranks number of ranks of the job; see {@code ServerStrategyContext}
 * @param lastVersion version at which the job ends; see {@code StrategyFactory.lastVersion}
 * @param pullDeadlineMillis longest time that a pull waits for its minimum version
 * @param bound for the elements of gradients
 */
public record ShardConfig(
    long job,
    int incarnation,
    int ranks,
    long lastVersion,
    long pullDeadlineMillis,
    MagnitudeBound bound) {

  /** Creates the settings of a shard that waits only for workers that are members. */
  public ShardConfig(long job, int incarnation, long lastVersion, long pullDeadlineMillis) {
    this(job, incarnation, 0, lastVersion, pullDeadlineMillis);
  }

  /** Creates the settings of a shard that applies every finite gradient. */
  public ShardConfig(
      long job, int incarnation, int ranks, long lastVersion, long pullDeadlineMillis) {
    this(job, incarnation, ranks, lastVersion, pullDeadlineMillis, MagnitudeBound.NONE);
  }

  public ShardConfig {
    if (incarnation < 0 || lastVersion < 1 || pullDeadlineMillis < 1) {
      throw new IllegalArgumentException(
          "incarnation %d, last version %d, pull deadline %d ms: expected at least 0, 1 and 1"
              .formatted(incarnation, lastVersion, pullDeadlineMillis));
    }
  }
}
