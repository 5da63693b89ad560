package io.vertigrad.internal.membership;

import java.util.function.LongSupplier;

/**
 * Monotonic milliseconds in which this process ran: time in which it was stopped, or slept with its
 * machine, is left out, so that nobody is blamed for it and no limit passes. One thread.
 *
 * <p>It has to be read far more often than its limit; two readings that lie further apart mean that
 * nothing ran in between.
 */
final class RunningTimeClock implements LongSupplier {

  private final LongSupplier clockMillis;
  private final long limitMillis;
  private long readMillis;
  private long leftOutMillis;

  /**
   * Begins to watch.
   *
   * @param clockMillis monotonic milliseconds, which run on while the process is stopped
   * @param limitMillis longest time between two readings in which it still ran
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

  /** Milliseconds left out so far; grows with every freeze. */
  long leftOutMillis() {
    return leftOutMillis;
  }
}
