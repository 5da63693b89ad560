package io.vertigrad.strategy;

import io.vertigrad.job.Partition;
import java.util.function.LongSupplier;

/**
 * The context of a strategy of one partition.
 *
 * @param partition the partition whose updates it combines
 * @param store its parameters
 * @param answers creates the frames it answers with
 * @param membership the initial members
 * @param ranks number of ranks that the job's work is divided among, from 0 to {@code ranks - 1}: a
 *     rank without a worker is waited for; 0 to wait for members only
 * @param lastVersion version at which the job ends; from there on no worker may wait for another
 * @param sums adds up what the rules of all partitions need
 * @param nanoClock monotonic time in nanoseconds
 */
public record ServerStrategyContext(
    Partition partition,
    PartitionStore store,
    Answers answers,
    Membership membership,
    int ranks,
    long lastVersion,
    PartitionSums sums,
    LongSupplier nanoClock) {}
