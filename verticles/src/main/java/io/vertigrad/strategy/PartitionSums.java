package io.vertigrad.strategy;

import io.vertx.core.Future;

/**
 * Sums over all trainable partitions of a job, for a rule that needs something of the whole vector,
 * such as the distance between two workers' gradients.
 *
 * <p>Each trainable partition adds a share; one of statistics adds nothing and may wait for the
 * sum. The shares of a shard are added in the order of its partitions, then the sums of the shards
 * in theirs, so that all partitions get the same bits, in every run. Between two shards a sum costs
 * one request and one answer of 8 bytes a number.
 *
 * <p>A rule that waits for a sum before it answers needs {@link
 * StrategyTraits#summingPartitions()}.
 */
public interface PartitionSums {

  /**
   * Adds this partition's share to a sum.
   *
   * @param number of the sum, the same in all partitions; it grows from sum to sum, by at most 2
   *     from one version to the next
   * @param share at least one number; a shorter one counts as if zeros followed
   * @return the sum, which must not be changed; it completes on the rule's thread when all
   *     partitions have added theirs, and never if one of them does not
   */
  Future<double[]> sum(long number, double[] share);

  /**
   * Returns what the newest sum of this shard lacks, for the message of a rule that no longer waits
   * for it.
   *
   * @return the names of partitions or shards, in one line
   */
  String missing();
}
