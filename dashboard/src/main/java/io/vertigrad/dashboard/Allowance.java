package io.vertigrad.dashboard;

import java.util.concurrent.TimeUnit;

/**
 * Implements a token bucket: it limits the amount that can be taken at once, and per second after
 * that.
 */
final class Allowance {

  private static final double SECOND_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final double most;
  private final double perSecond;
  private double left;
  private long takenNanos = System.nanoTime();

  Allowance(double most, double perSecond) {
    this.most = most;
    this.perSecond = perSecond;
    left = most;
  }

  /**
   * Takes the amount if enough is left. An amount larger than the whole bucket is taken when the
   * bucket is full; the bucket then stays empty until the excess is refilled.
   */
  boolean take(long nowNanos, int amount) {
    left = Math.min(most, left + perSecond * (nowNanos - takenNanos) / SECOND_NANOS);
    takenNanos = nowNanos;
    if (left < Math.min(amount, most)) {
      return false;
    }
    left -= amount;
    return true;
  }

  /** Takes what is left. */
  void empty() {
    left = Math.min(left, 0);
  }
}
