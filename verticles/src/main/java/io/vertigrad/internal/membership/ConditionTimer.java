package io.vertigrad.internal.membership;

/** A condition that is tolerated for a limited time. */
final class ConditionTimer {

  private final long limitMillis;
  private long sinceMillis = Long.MIN_VALUE;

  ConditionTimer(long limitMillis) {
    this.limitMillis = limitMillis;
  }

  /** Returns whether the condition {@code holds} and has held without a break for the limit. */
  boolean exceeded(boolean holds, long nowMillis) {
    if (!holds) {
      sinceMillis = Long.MIN_VALUE;
      return false;
    }
    if (sinceMillis == Long.MIN_VALUE) {
      sinceMillis = nowMillis;
    }
    return nowMillis - sinceMillis >= limitMillis;
  }

  /** Starts counting again. */
  void restart() {
    sinceMillis = Long.MIN_VALUE;
  }

  /** Returns the limit with its unit, for messages. */
  String seconds() {
    return limitMillis % 1_000 == 0 ? limitMillis / 1_000 + " s" : limitMillis + " ms";
  }
}
