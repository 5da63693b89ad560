/**
 * One shard as plain objects: its partitions, the filter before their strategies, their parameters
 * and the counts of their updates.
 */
package io.vertigrad.internal.shard;
