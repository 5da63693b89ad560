package io.vertigrad.internal.exchange;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Where one thread waits for what others bring, and how they wake it. */
public final class WakeSignal {

  private volatile Thread parked;

  /** Ends the wait early; any thread may ring. */
  public void ring() {
    LockSupport.unpark(parked);
  }

  /**
   * Waits until rung, at most this long.
   *
   * @param needless looked at once more, after a ring can no longer be missed
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
