package io.vertigrad.internal.server;

/**
 * Counters of a shard since its server started.
 *
 * @param version version that every partition has reached; the last one without partitions
 * @param samples training samples that every partition has seen, checkpoints included
 * @param applied gradient frames applied
 * @param late frames that came after their round
 * @param duplicate frames answered again
 * @param tooStale frames older than the strategy's bound
 * @param refused frames refused for good
 */
public record ShardCounters(
    long version,
    long samples,
    long applied,
    long late,
    long duplicate,
    long tooStale,
    long refused) {}
