package io.vertigrad.internal.server;

import java.util.function.LongSupplier;

/** A monotonic clock that a test moves by hand. */
public final class FakeClock implements LongSupplier {

  private long nanos;

  @Override
  public long getAsLong() {
    return nanos;
  }

  public void advanceMillis(long millis) {
    nanos += millis * 1_000_000;
  }

  public long millis() {
    return nanos / 1_000_000;
  }
}
