package io.vertigrad.compute.data;

import java.util.List;

/** Changes one training sample at random while its batch is assembled, in place. */
@FunctionalInterface
public interface Augmentation {

  /**
   * Changes the sample at {@code features[offset...]}, on the prefetching thread.
   *
   * @param features holds the sample
   * @param offset where the sample begins
   * @param shape the sample's dimensions, channels first
   * @param random seeded by (seed, epoch, sample): the same for the same sample of the same epoch
   */
  void apply(float[] features, int offset, List<Integer> shape, SplitMix64 random);

  /**
   * Leaves every sample as it is.
   *
   * @return an augmentation that does nothing
   */
  static Augmentation none() {
    return (features, offset, shape, random) -> {};
  }
}
