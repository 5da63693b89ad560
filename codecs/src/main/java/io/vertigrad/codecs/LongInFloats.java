package io.vertigrad.codecs;

/**
 * A whole number in two elements of a float32 array, which hold it exactly: for counts and versions
 * beside parameters that are saved as one array.
 */
public final class LongInFloats {

  /** Number of elements of a number. */
  public static final int LENGTH = 2;

  private static final long UNIT = 1 << 20;

  private LongInFloats() {}

  /**
   * Returns a number.
   *
   * @param array has the number
   * @param at index of its first element
   * @return the number; 0 if both elements are 0
   */
  public static long get(float[] array, int at) {
    return (long) array[at] * UNIT + (long) array[at + 1];
  }

  /**
   * Stores a number.
   *
   * @param array to change
   * @param at index of its first element
   * @param number at least 0 and below 2^44
   */
  public static void put(float[] array, int at, long number) {
    array[at] = number / UNIT;
    array[at + 1] = number % UNIT;
  }
}
