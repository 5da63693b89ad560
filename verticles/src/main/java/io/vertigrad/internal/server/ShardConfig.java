package io.vertigrad.internal.server;

/**
 * What a shard needs to know of its job.
 *
 * @param job hash of the job's name
 * @param incarnation of this server; stamped on every answer
 * @param ranks workers that the job is shared out to; see {@code ServerStrategyContext}
 * @param lastVersion version at which the job ends, see {@code StrategyFactory.lastVersion}
 * @param pullDeadlineMillis longest a pull waits for its minimum version
 * @param bound of what workers send
 */
public record ShardConfig(
    long job,
    int incarnation,
    int ranks,
    long lastVersion,
    long pullDeadlineMillis,
    MagnitudeBound bound) {

  /** The configuration of a shard that waits for nobody but members. */
  public ShardConfig(long job, int incarnation, long lastVersion, long pullDeadlineMillis) {
    this(job, incarnation, 0, lastVersion, pullDeadlineMillis);
  }

  /** The configuration of a shard that applies all that is finite. */
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
