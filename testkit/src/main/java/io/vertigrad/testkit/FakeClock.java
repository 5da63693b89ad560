package io.vertigrad.testkit;

import java.util.function.LongSupplier;

/** A monotonic clock that a test advances; not thread-safe. */
public final class FakeClock implements LongSupplier {

  private long nanos;

  /** Creates a clock at time 0. */
  public FakeClock() {}

  /**
   * Reads the clock.
   *
   * @return nanoseconds since this clock was created
   */
  @Override
  public long getAsLong() {
    return nanos;
  }

  /**
   * Moves the clock forward.
   *
   * @param millis milliseconds to add
   */
  public void advanceMillis(long millis) {
    nanos += millis * 1_000_000;
  }

  /**
   * Reads the clock.
   *
   * @return milliseconds since this clock was created
   */
  public long millis() {
    return nanos / 1_000_000;
  }
}
