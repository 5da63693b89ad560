package io.vertigrad.internal.membership;

import java.util.function.LongSupplier;

/**
 * Monotonic milliseconds in which this process ran. Time in which it was stopped, or slept with its
 * machine, is left out, so that no limit passes because of it. One thread.
 *
 * <p>Read it far more often than its limit: two readings further apart than that mean that the
 * process did not run in between.
 */
final class RunningTimeClock implements LongSupplier {

  private final LongSupplier clockMillis;
  private final long limitMillis;
  private long readMillis;
  private long leftOutMillis;

  /**
   * Starts the clock.
   *
   * @param clockMillis monotonic milliseconds, which go on while the process is stopped
   * @param limitMillis longest time between two readings in which the process still ran
   */
  RunningTimeClock(LongSupplier clockMillis, long limitMillis) {
    this.clockMillis = clockMillis;
    this.limitMillis = limitMillis;
    readMillis = clockMillis.getAsLong();
  }

  @Override
  public long getAsLong() {
    long now = clockMillis.getAsLong();
    long gap = now - readMillis;
    readMillis = now;
    if (gap >= limitMillis) {
      leftOutMillis += gap;
    }
    return now - leftOutMillis;
  }

  /** Returns how many milliseconds were left out so far; grows with every stop of the process. */
  long leftOutMillis() {
    return leftOutMillis;
  }
}
