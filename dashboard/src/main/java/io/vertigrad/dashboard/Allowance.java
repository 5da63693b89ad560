package io.vertigrad.dashboard;

import java.util.concurrent.TimeUnit;

/** A token bucket: how much may be taken at once, and how much in each second after that. */
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
   * Takes the amount if so much is left. An amount that is never left is taken when nothing was
   * taken for long enough, and paid back by waiting.
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
}
