package io.vertigrad.events;

import java.util.Arrays;
import java.util.List;

/** The buckets in which events count times. */
public final class TimeBuckets {

  /** Upper bounds in microseconds, from 100 microseconds to 10 seconds, without the last bucket. */
  public static final List<Integer> BOUNDS =
      List.of(
          100,
          200,
          500,
          1_000,
          2_000,
          5_000,
          10_000,
          20_000,
          50_000,
          100_000,
          200_000,
          500_000,
          1_000_000,
          2_000_000,
          5_000_000,
          10_000_000);

  private static final int[] SORTED = BOUNDS.stream().mapToInt(Integer::intValue).toArray();

  private TimeBuckets() {}

  /**
   * Returns the bucket of a time.
   *
   * @param micros a time in microseconds
   * @return the upper bound of its bucket; {@link Integer#MAX_VALUE} above all bounds
   */
  public static int bound(long micros) {
    if (micros > SORTED[SORTED.length - 1]) {
      return Integer.MAX_VALUE;
    }
    int found = Arrays.binarySearch(SORTED, (int) micros);
    return SORTED[found < 0 ? -found - 1 : found];
  }

  /**
   * Returns where a bucket begins.
   *
   * @param bound upper bound of a bucket
   * @return the greatest bound below it; 0 for the first bucket
   */
  public static int below(int bound) {
    int found = Arrays.binarySearch(SORTED, bound);
    int index = found < 0 ? -found - 1 : found;
    return index == 0 ? 0 : SORTED[index - 1];
  }
}
