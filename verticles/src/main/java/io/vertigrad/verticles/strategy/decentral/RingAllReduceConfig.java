package io.vertigrad.verticles.strategy.decentral;

import io.vertigrad.codecs.settings.Settings;

/**
 * Settings of {@link RingAllReduce}.
 *
 * @param scaleLearningRate multiply the learning rate by {@code workers.count}, as Horovod does
 * @param checkEvery steps between two comparisons of all replicas by hash; 0 for none
 * @param directBytes parameters that take no more go from each to each instead of around the ring
 */
record RingAllReduceConfig(boolean scaleLearningRate, long checkEvery, long directBytes) {

  static RingAllReduceConfig read(Settings settings) {
    RingAllReduceConfig config =
        new RingAllReduceConfig(
            settings.flag("scaleLearningRate", false),
            settings.longInteger("checkEvery", 100, 0, Long.MAX_VALUE),
            settings.longInteger("directBytes", Reduction.DIRECT_BYTES, 0, Long.MAX_VALUE));
    settings.refuseUnknown();
    return config;
  }
}
