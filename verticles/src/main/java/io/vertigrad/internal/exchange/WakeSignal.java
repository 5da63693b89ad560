package io.vertigrad.internal.exchange;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Lets one thread wait until another thread wakes it. */
public final class WakeSignal {

  private volatile Thread parked;

  /** Ends the wait early; any thread. */
  public void ring() {
    LockSupport.unpark(parked);
  }

  /**
   * Waits until woken, at most this long.
   *
   * @param needless returns true if there is nothing to wait for; checked once, when no wake-up can
   *     be missed any more
   */
  public void await(BooleanSupplier needless, long nanos) {
    parked = Thread.currentThread();
    try {
      if (!needless.getAsBoolean()) {
        LockSupport.parkNanos(this, nanos);
      }
    } finally {
      parked = null;
    }
  }
}
