package io.vertigrad.internal.server;

import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.internal.exchange.PartitionPlan;

/**
 * What one shard's store is made from.
 *
 * @param plan partitions and their shards
 * @param shard the shard it owns
 * @param optimizer how parameters follow gradients
 * @param engine makes the update rules
 * @param trainingSamples samples of the whole training set, of which an epoch consists
 * @param type how parameters travel; they are always kept in float32
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
