package io.vertigrad.internal.membership;

/**
 * Measures how long a member has not heard from its coordinator and decides what to do; does no I/O
 * and runs on one thread.
 *
 * <p>Silence is reported once it reaches a limit and then once a minute. It ends the member only
 * after a much longer limit. When two calls of {@link #look} are too far apart, this process itself
 * did not run, and that time does not count.
 */
final class CoordinatorSilence {

  private static final long REPEAT_MILLIS = 60_000;

  private final long freezeMillis;
  private final long tellMillis;
  private final long limitMillis;
  private long answeredMillis;
  private long lookedMillis;
  private long toldMillis;
  private boolean told;

  /** The result of a look at the clock. */
  enum Finding {
    /** The coordinator answers, or its silence was reported less than a minute ago. */
    NOTHING,
    /** The coordinator is silent; report it. */
    TELL,
    /** The coordinator has been silent for the limit. */
    GIVE_UP
  }

  /**
   * Starts as if the coordinator had just answered.
   *
   * @param freezeMillis looks further apart than this mean that this process did not run
   * @param tellMillis silence after which it is reported
   * @param limitMillis silence after which the member gives up
   * @param nowMillis monotonic
   */
  CoordinatorSilence(long freezeMillis, long tellMillis, long limitMillis, long nowMillis) {
    this.freezeMillis = freezeMillis;
    this.tellMillis = tellMillis;
    this.limitMillis = limitMillis;
    answeredMillis = nowMillis;
    lookedMillis = nowMillis;
  }

  /** Looks at the clock; call it far more often than every {@code freezeMillis}. */
  Finding look(long nowMillis) {
    long gap = nowMillis - lookedMillis;
    lookedMillis = nowMillis;
    if (gap > freezeMillis) {
      answeredMillis += gap;
      toldMillis += gap;
    }
    long silent = silentMillis(nowMillis);
    if (silent >= limitMillis) {
      return Finding.GIVE_UP;
    }
    boolean due = told ? nowMillis - toldMillis >= REPEAT_MILLIS : silent >= tellMillis;
    if (due) {
      told = true;
      toldMillis = nowMillis;
    }
    return due ? Finding.TELL : Finding.NOTHING;
  }

  /** Records an answer; returns whether the silence before it was reported. */
  boolean answered(long nowMillis) {
    boolean ends = told;
    told = false;
    answeredMillis = nowMillis;
    return ends;
  }

  /** Returns how many milliseconds of silence have passed while this process ran. */
  long silentMillis(long nowMillis) {
    return nowMillis - answeredMillis;
  }
}
