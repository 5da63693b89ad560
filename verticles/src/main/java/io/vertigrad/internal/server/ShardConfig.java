package io.vertigrad.internal.server;

/**
 * What a shard needs to know of its job.
 *
 * @param job hash of the job's name
 * @param incarnation of this server; stamped on every answer
 * @param lastVersion version at which the job ends, see {@code StrategyFactory.lastVersion}
 * @param pullDeadlineMillis longest a pull waits for its minimum version
 */
public record ShardConfig(long job, int incarnation, long lastVersion, long pullDeadlineMillis) {

  public ShardConfig {
    if (incarnation < 0 || lastVersion < 1 || pullDeadlineMillis < 1) {
      throw new IllegalArgumentException(
          "incarnation %d, last version %d, pull deadline %d ms: expected at least 0, 1 and 1"
              .formatted(incarnation, lastVersion, pullDeadlineMillis));
    }
  }
}
