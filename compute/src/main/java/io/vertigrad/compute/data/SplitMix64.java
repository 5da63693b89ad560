package io.vertigrad.compute.data;

/**
 * A small seeded random generator whose numbers are the same on every machine and Java release.
 *
 * <p>Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014. A generator
 * is created from any number of keys, so that "seed 7, epoch 3" needs no stored state. Not
 * thread-safe; not for secrets.
 */
public final class SplitMix64 {

  private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;
  private static final double UNIT = 0x1p-53;
  private static final double SQRT_3 = 1.7320508075688772;

  private long state;

  /**
   * Creates a generator for these keys; the same keys in the same order give the same numbers.
   *
   * @param keys any numbers, such as a seed and an index
   */
  public SplitMix64(long... keys) {
    for (long key : keys) {
      state = mix(state + GOLDEN_GAMMA + mix(key + GOLDEN_GAMMA));
    }
  }

  /**
   * Returns the next 64 random bits.
   *
   * @return 64 bits, each equally likely 0 or 1
   */
  public long nextLong() {
    state += GOLDEN_GAMMA;
    return mix(state);
  }

  /**
   * Returns a whole number from 0 to {@code bound - 1}, each equally likely.
   *
   * <p>Lemire: "Fast random integer generation in an interval", TOMACS 29 (2019).
   *
   * @param bound the number of results, above 0
   * @return the number
   */
  public int below(int bound) {
    if (bound < 1) {
      throw new IllegalArgumentException("bound is %s, expected at least 1".formatted(bound));
    }
    long product = (nextLong() >>> 32) * bound;
    if ((product & 0xFFFFFFFFL) < bound) {
      long threshold = ((1L << 32) - bound) % bound;
      while ((product & 0xFFFFFFFFL) < threshold) {
        product = (nextLong() >>> 32) * bound;
      }
    }
    return (int) (product >>> 32);
  }

  /**
   * Returns a number from 0 (included) to 1 (excluded), uniformly distributed.
   *
   * @return the number
   */
  public double uniform() {
    return (nextLong() >>> 11) * UNIT;
  }

  /**
   * Returns a number from {@code low} to {@code high}, uniformly distributed.
   *
   * @param low the lower bound
   * @param high the upper bound
   * @return the number
   */
  public double between(double low, double high) {
    return low + (high - low) * uniform();
  }

  /**
   * Returns an approximately normal number, mean 0, deviation 1, never beyond 3.5: a scaled sum of
   * four uniform numbers.
   *
   * @return the number
   */
  public double normal() {
    return (uniform() + uniform() + uniform() + uniform() - 2) * SQRT_3;
  }

  /**
   * Returns the numbers 0 to {@code length - 1} in random order (Fisher, Yates).
   *
   * @param length how many numbers
   * @return a new array
   */
  public int[] permutation(int length) {
    int[] order = new int[length];
    for (int i = 0; i < length; i++) {
      int j = below(i + 1);
      order[i] = order[j];
      order[j] = i;
    }
    return order;
  }

  private static long mix(long value) {
    long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
