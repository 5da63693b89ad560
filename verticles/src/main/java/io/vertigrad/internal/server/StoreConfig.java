package io.vertigrad.internal.server;

import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.exchange.PartitionPlan;

/**
 * The settings of one shard's store.
 *
 * @param plan partitions and their shards
 * @param shard the shard that the store owns
 * @param optimizer settings of the optimizer
 * @param engine creates the update rules
 * @param trainingSamples size of the training set, which is one epoch
 * @param type element type of parameters in frames; they are always stored as float32
 */
public record StoreConfig(
    PartitionPlan plan,
    int shard,
    OptimizerConfig optimizer,
    Engine engine,
    long trainingSamples,
    DataType type) {

  public StoreConfig {
    if (shard < 0 || trainingSamples < 1) {
      throw new IllegalArgumentException(
          "shard %d, %d training samples: expected at least 0 and 1"
              .formatted(shard, trainingSamples));
    }
  }
}
