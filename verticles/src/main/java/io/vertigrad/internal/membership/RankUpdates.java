package io.vertigrad.internal.membership;

import io.vertigrad.codecs.UpdateCounts;
import java.util.Map;
import java.util.TreeMap;

/**
 * The outcome of one rank's updates at one server, over all of the server's partitions.
 *
 * @param rank the worker's rank
 * @param counts the updates by outcome
 * @param unexplained optimizer steps beyond the applied updates of all ranks; reported with the
 *     first rank, if the strategy takes one step per update
 * @param openPartitions for partitions that have not reached the last version: number of partitions
 *     by the number of this rank's steps that they have passed
 */
public record RankUpdates(
    int rank, UpdateCounts counts, long unexplained, Map<Long, Integer> openPartitions) {

  public RankUpdates {
    openPartitions = Map.copyOf(openPartitions);
  }

  /** Creates the outcome for a rank that has sent nothing to any partition. */
  public RankUpdates(int rank) {
    this(rank, UpdateCounts.NONE, 0, Map.of());
  }

  /** Adds the updates of a partition that is at the last version. */
  public RankUpdates plus(UpdateCounts more) {
    return new RankUpdates(rank, counts.plus(more), unexplained, openPartitions);
  }

  /**
   * Adds the updates of a partition that has not reached the last version.
   *
   * @param steps number of this rank's steps that the partition has passed
   */
  public RankUpdates plusOpen(UpdateCounts more, long steps) {
    Map<Long, Integer> open = new TreeMap<>(openPartitions);
    open.merge(steps, 1, Integer::sum);
    return new RankUpdates(rank, counts.plus(more), unexplained, open);
  }

  /** Returns a copy with the given number of optimizer steps that no applied update explains. */
  public RankUpdates withUnexplained(long steps) {
    return new RankUpdates(rank, counts, steps, openPartitions);
  }

  /**
   * Returns how many updates are missing: steps passed without one, and steps that the worker has
   * completed but an open partition has not passed.
   *
   * @param completed steps that the rank is known to have completed
   */
  public long lost(long completed) {
    return counts.skipped()
        + openPartitions.entrySet().stream()
            .mapToLong(part -> Math.max(0, completed - part.getKey()) * part.getValue())
            .sum();
  }
}
