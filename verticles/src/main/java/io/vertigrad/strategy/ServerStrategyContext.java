package io.vertigrad.strategy;

import io.vertigrad.job.Partition;
import java.util.function.LongSupplier;

/**
 * What a strategy of one partition is given.
 *
 * @param partition the partition it combines updates of
 * @param store its parameters
 * @param answers makes the frames it answers with
 * @param membership who takes part at first
 * @param lastVersion version at which the job ends; from there on nobody may wait for anybody
 * @param nanoClock monotonic time in nanoseconds
 */
public record ServerStrategyContext(
    Partition partition,
    PartitionStore store,
    Answers answers,
    Membership membership,
    long lastVersion,
    LongSupplier nanoClock) {}
