package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.collective.AllReduce;

/**
 * Settings of {@link AllReduceStrategy}.
 *
 * @param scaleLearningRate multiply the learning rate by {@code workers.count}, as Horovod does
 * @param checkEvery steps between two comparisons of all replicas by hash; 0 for none
 * @param directBytes parameters that take no more go from each to each instead of around the ring
 */
record AllReduceStrategyConfig(boolean scaleLearningRate, long checkEvery, long directBytes) {

  static AllReduceStrategyConfig read(Settings settings) {
    AllReduceStrategyConfig config =
        new AllReduceStrategyConfig(
            settings.flag("scaleLearningRate", false),
            settings.longInteger("checkEvery", 100, 0, Long.MAX_VALUE),
            settings.longInteger("directBytes", AllReduce.DIRECT_BYTES, 0, Long.MAX_VALUE));
    settings.refuseUnknown();
    return config;
  }
}
