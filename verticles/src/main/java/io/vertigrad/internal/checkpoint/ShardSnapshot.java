package io.vertigrad.internal.checkpoint;

import java.util.List;

/**
 * One shard at one moment.
 *
 * @param job hash of the job's name
 * @param shard the shard
 * @param incarnation incarnation of the server that took the snapshot; a restarted server of the
 *     same run has a higher one
 * @param layout hash of the parameter layout
 * @param partitions all its partitions, by index
 */
public record ShardSnapshot(
    long job, int shard, int incarnation, long layout, List<PartitionSnapshot> partitions) {

  public ShardSnapshot {
    partitions = List.copyOf(partitions);
  }

  /** Returns the version that every partition has reached; 0 without partitions. */
  public long version() {
    return partitions.stream().mapToLong(PartitionSnapshot::version).min().orElse(0);
  }
}
