package io.vertigrad.internal.membership;

/** A state of affairs that is put up with for a limited time. */
final class ConditionTimer {

  private final long limitMillis;
  private long sinceMillis = Long.MIN_VALUE;

  ConditionTimer(long limitMillis) {
    this.limitMillis = limitMillis;
  }

  /** True when it {@code holds} and has held without a break for longer than the limit. */
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

  /** Starts counting anew. */
  void restart() {
    sinceMillis = Long.MIN_VALUE;
  }

  /** The limit in seconds, for people. */
  String seconds() {
    return limitMillis % 1_000 == 0 ? limitMillis / 1_000 + " s" : limitMillis + " ms";
  }
}
