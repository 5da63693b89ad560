package io.vertigrad.internal.membership;

import java.util.Map;

/**
 * What became of one rank's updates at one server, over all of the server's partitions.
 *
 * @param rank the worker's rank
 * @param applied updates that are in the parameters
 * @param late updates that came after their round, or after the last version
 * @param tooStale updates older than the strategy's bound
 * @param refused updates turned away for good
 * @param skipped steps that were passed without an update
 * @param unexplained steps of the optimizer beyond the updates applied, of all ranks; told with the
 *     first rank, where the strategy takes one step per update
 * @param open of the partitions that have not reached the last version: after how many steps of
 *     this rank, how many partitions
 */
public record RankUpdates(
    int rank,
    long applied,
    long late,
    long tooStale,
    long refused,
    long skipped,
    long unexplained,
    Map<Long, Integer> open) {

  public RankUpdates {
    open = Map.copyOf(open);
  }

  /** Updates that were dealt with in one way or another. */
  public long dealtWith() {
    return applied + late + tooStale + refused;
  }

  /**
   * Returns how many updates are missing: steps passed without one, and those of open partitions
   * that the rank's worker has completed.
   *
   * @param completed steps that the rank is known to have completed
   */
  public long lost(long completed) {
    return skipped
        + open.entrySet().stream()
            .mapToLong(part -> Math.max(0, completed - part.getKey()) * part.getValue())
            .sum();
  }
}
