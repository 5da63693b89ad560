/** Strategies that sit beside a parameter-server shard: gather, first come, bounded staleness. */
package io.vertigrad.internal.strategy;
