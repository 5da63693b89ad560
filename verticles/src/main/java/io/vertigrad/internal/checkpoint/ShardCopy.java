package io.vertigrad.internal.checkpoint;

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
public record ShardCopy(
    long job, int shard, int incarnation, long layout, List<PartitionCopy> partitions) {

  public ShardCopy {
    partitions = List.copyOf(partitions);
  }

  /** Version that every partition has reached; 0 without partitions. */
  public long version() {
    return partitions.stream().mapToLong(PartitionCopy::version).min().orElse(0);
  }

  /**
   * Makes what was not copied yet, and at once, so that the shard's own thread need not.
   *
   * @return bytes of all arrays
   */
  long make() {
    return partitions.stream().mapToLong(PartitionCopy::makeAndMeasure).sum();
  }

  /** Gives all memory back; what was not copied yet is not copied any more. Once is enough. */
  public void release() {
    partitions.forEach(PartitionCopy::release);
  }
}
