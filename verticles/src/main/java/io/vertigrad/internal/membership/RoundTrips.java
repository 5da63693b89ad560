package io.vertigrad.internal.membership;

import org.HdrHistogram.AbstractHistogram;
import org.HdrHistogram.IntCountsHistogram;

/**
 * The times of the last 100 to 200 answered requests, to three digits; single-threaded.
 *
 * <p>A histogram cannot forget single values, so there are two. One fills up; with 100 values it
 * replaces the one that was full before.
 */
final class RoundTrips {

  private static final int WINDOW = 100;
  private static final int DIGITS = 3;
  private static final long NANOS_PER_MICRO = 1_000;
  private static final double MICROS_PER_MILLI = 1e3;

  private AbstractHistogram filling = new IntCountsHistogram(DIGITS);
  private AbstractHistogram full = new IntCountsHistogram(DIGITS);
  private final AbstractHistogram both = new IntCountsHistogram(DIGITS);

  void add(long tookNanos) {
    if (filling.getTotalCount() == WINDOW) {
      AbstractHistogram oldest = full;
      full = filling;
      filling = oldest;
      filling.reset();
    }
    filling.recordValue(tookNanos / NANOS_PER_MICRO);
  }

  /**
   * Returns the nearest-rank quantile in milliseconds: the smallest time that at least this share
   * of the requests did not exceed; 0 before the first request.
   *
   * @param share above 0, at most 1
   */
  double quantileMillis(double share) {
    both.reset();
    both.add(full);
    both.add(filling);
    return both.getValueAtPercentile(100 * share) / MICROS_PER_MILLI;
  }
}
