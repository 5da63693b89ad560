package io.vertigrad.internal.checkpoint;

import java.util.List;

/**
 * A copy of a shard at one moment. Its partitions are copied one by one while training continues.
 *
 * @param job hash of the job's name
 * @param shard the shard
 * @param incarnation incarnation of its server
 * @param layout hash of the parameter layout
 * @param partitions all its partitions, by index
 */
public record ShardCopy(
    long job, int shard, int incarnation, long layout, List<PartitionCopy> partitions) {

  public ShardCopy {
    partitions = List.copyOf(partitions);
  }

  /** Returns the version that every partition has reached; 0 without partitions. */
  public long version() {
    return partitions.stream().mapToLong(PartitionCopy::version).min().orElse(0);
  }

  /**
   * Copies the remaining partitions at once, so that the shard's own thread does not have to.
   *
   * @return bytes of all arrays
   */
  long make() {
    return partitions.stream().mapToLong(PartitionCopy::makeAndMeasure).sum();
  }

  /**
   * Releases all memory. Remaining partitions are not copied any more. Repeated calls do nothing.
   */
  public void release() {
    partitions.forEach(PartitionCopy::release);
  }
}
