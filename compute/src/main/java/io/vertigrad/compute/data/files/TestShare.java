package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SplitMix64;
import java.util.Arrays;

/** Chooses the test share of some samples, the same in every process. */
final class TestShare {

  private TestShare() {}

  /**
   * Chooses the samples of a split at random.
   *
   * @param size number of samples, at least 2
   * @param share share of the samples that is for testing; at least one sample is left in each
   *     split
   * @param seed seed of the choice
   * @return the samples' indices, ascending
   */
  static int[] split(int size, double share, long seed, Split split) {
    int[] order = new SplitMix64(seed).permutation(size);
    int test = (int) Math.max(1, Math.min(size - 1L, Math.round(size * share)));
    int[] chosen =
        split == Split.TEST ? Arrays.copyOf(order, test) : Arrays.copyOfRange(order, test, size);
    Arrays.sort(chosen);
    return chosen;
  }
}
