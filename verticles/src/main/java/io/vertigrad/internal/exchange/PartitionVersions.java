package io.vertigrad.internal.exchange;

import io.vertigrad.job.Partition;
import java.util.Comparator;
import java.util.List;

/** The version of each partition that a model holds. Belongs to the model's thread. */
public final class PartitionVersions {

  private final List<Partition> byIndex;
  private final long[] versions;

  /** Creates versions of 0 for all partitions. */
  public PartitionVersions(PartitionPlan plan) {
    byIndex = plan.partitions();
    versions = new long[byIndex.size()];
  }

  public long of(Partition partition) {
    return versions[partition.index()];
  }

  public void set(Partition partition, long version) {
    versions[partition.index()] = version;
  }

  public long lowest() {
    long lowest = Long.MAX_VALUE;
    for (long version : versions) {
      lowest = Math.min(lowest, version);
    }
    return lowest;
  }

  public long highest() {
    long highest = 0;
    for (long version : versions) {
      highest = Math.max(highest, version);
    }
    return highest;
  }

  /**
   * Returns all partitions in the order in which workers send them: oldest version first, then by
   * index.
   *
   * <p>Otherwise, if versions differ, a newer round could fill the worker's window. All other
   * workers would then wait for its part of the older round.
   */
  public List<Partition> oldestFirst() {
    if (lowest() == highest()) {
      return byIndex;
    }
    return byIndex.stream()
        .sorted(Comparator.comparingLong(this::of).thenComparingInt(Partition::index))
        .toList();
  }
}
