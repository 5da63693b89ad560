package io.vertigrad.internal.server;

import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import java.util.List;

/**
 * A copy of a shard at one moment, whose partitions are copied one by one while training goes on.
 *
 * @param job hash of the job's name
 * @param shard the shard
 * @param incarnation of its server
 * @param layout hash of the parameter layout
 * @param partitions all its partitions, by index
 */
record ShardCopy(
    long job, int shard, int incarnation, long layout, List<PartitionCopy> partitions) {

  /** Version that every partition has reached; 0 without partitions. */
  long version() {
    return partitions.stream().mapToLong(PartitionCopy::version).min().orElse(0);
  }

  /** Makes what was not copied yet; to be called off the shard's thread. */
  ShardSnapshot take() {
    return new ShardSnapshot(
        job, shard, incarnation, layout, partitions.stream().map(PartitionCopy::take).toList());
  }
}
