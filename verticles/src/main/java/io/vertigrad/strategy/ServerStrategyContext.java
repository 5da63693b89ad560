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
 * @param ranks workers that the job is shared out to for good, of ranks 0 to {@code ranks - 1}: one
 *     of them that nobody plays is waited for; 0 to wait for nobody but members
 * @param lastVersion version at which the job ends; from there on nobody may wait for anybody
 * @param nanoClock monotonic time in nanoseconds
 */
public record ServerStrategyContext(
    Partition partition,
    PartitionStore store,
    Answers answers,
    Membership membership,
    int ranks,
    long lastVersion,
    LongSupplier nanoClock) {}
