package io.vertigrad.compute.data;

import java.util.List;

/** Changes one training sample at random, in place, while its batch is assembled. */
@FunctionalInterface
public interface Augmentation {

  /**
   * Changes the sample at {@code features[offset...]}, on the prefetching thread.
   *
   * @param features array that holds the sample
   * @param offset index of the sample's first feature
   * @param shape the sample's dimensions, channels first
   * @param random seeded by (seed, epoch, sample): the same for the same sample of the same epoch
   */
  void apply(float[] features, int offset, List<Integer> shape, SplitMix64 random);

  /**
   * Returns an augmentation that does nothing.
   *
   * @return an augmentation that leaves every sample unchanged
   */
  static Augmentation none() {
    return (features, offset, shape, random) -> {};
  }
}
