package io.vertigrad.verticles.coordinator;

import java.util.Arrays;

/** The times of the last requests that were answered; single-threaded. */
final class RoundTrips {

  private static final int KEPT = 100;
  private static final double NANOS_PER_MILLI = 1e6;

  private final long[] nanos = new long[KEPT];
  private long count;

  void add(long tookNanos) {
    nanos[(int) (count++ % KEPT)] = tookNanos;
  }

  /**
   * The nearest-rank quantile in milliseconds: the smallest time that at least this share of the
   * requests did not exceed; 0 before the first.
   *
   * @param share above 0, at most 1
   */
  double quantileMillis(double share) {
    int size = (int) Math.min(count, KEPT);
    if (size == 0) {
      return 0;
    }
    long[] sorted = Arrays.copyOf(nanos, size);
    Arrays.sort(sorted);
    return sorted[(int) Math.ceil(share * size) - 1] / NANOS_PER_MILLI;
  }
}
