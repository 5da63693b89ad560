package io.vertigrad.internal.membership;

import java.util.Map;

/**
 * The outcome of one rank's updates at one server, over all of the server's partitions.
 *
 * @param rank the worker's rank
 * @param applied updates that are in the parameters
 * @param late updates that came after their round, or after the last version
 * @param tooStale updates older than the strategy's bound
 * @param refused updates that were refused for good
 * @param skipped steps that were passed without an update
 * @param unexplained optimizer steps beyond the applied updates of all ranks; reported with the
 *     first rank, if the strategy takes one step per update
 * @param open for partitions that have not reached the last version: number of partitions by the
 *     number of this rank's steps that they have passed
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

  /** Returns how many updates have arrived, whatever their outcome. */
  public long dealtWith() {
    return applied + late + tooStale + refused;
  }

  /**
   * Returns how many updates are missing: steps passed without one, and steps that the worker has
   * completed but an open partition has not passed.
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
