package io.vertigrad.job;

import io.vertigrad.compute.Block;

/**
 * A range of the exchange vector that is sent and updated as a unit.
 *
 * @param index number of the partition, from 0
 * @param first index of its first element in the exchange vector
 * @param length number of elements, at most one frame's worth
 * @param kind trainable or statistic; a partition never holds both
 * @param shard the shard that owns it
 */
public record Partition(int index, int first, int length, Block.Kind kind, int shard) {}
