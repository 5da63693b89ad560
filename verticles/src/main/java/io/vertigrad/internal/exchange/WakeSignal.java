package io.vertigrad.internal.exchange;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Lets one thread wait until another thread wakes it. */
public final class WakeSignal {

  private volatile Thread parked;

  /** Ends the wait early; any thread. */
  public void wake() {
    LockSupport.unpark(parked);
  }

  /**
   * Waits until woken, at most this long.
   *
   * @param done returns true if there is nothing to wait for; checked once, when no wake-up can be
   *     missed any more
   */
  public void await(BooleanSupplier done, long nanos) {
    parked = Thread.currentThread();
    try {
      if (!done.getAsBoolean()) {
        LockSupport.parkNanos(this, nanos);
      }
    } finally {
      parked = null;
    }
  }
}
