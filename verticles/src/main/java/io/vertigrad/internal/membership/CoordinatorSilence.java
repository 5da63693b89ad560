package io.vertigrad.internal.membership;

/**
 * For how long a member has not heard from its coordinator, and what follows from that; plain
 * arithmetic on one thread.
 *
 * <p>Silence is told at once and then once a minute, and ends the member only after a long limit. A
 * look that comes much later than it should means that this process itself did not run: that time
 * counts for nothing.
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

  /** What a look at the clock has found. */
  enum Finding {
    /** It answers, or has been told to be silent lately. */
    NOTHING,
    /** It is silent, which people should hear of. */
    TELL,
    /** It has been silent for the limit. */
    GIVE_UP
  }

  /**
   * Begins as if the coordinator had just answered.
   *
   * @param freezeMillis looks that lie further apart mean that this process did not run
   * @param tellMillis after so much silence people are told
   * @param limitMillis after so much silence the member gives up
   * @param nowMillis monotonic
   */
  CoordinatorSilence(long freezeMillis, long tellMillis, long limitMillis, long nowMillis) {
    this.freezeMillis = freezeMillis;
    this.tellMillis = tellMillis;
    this.limitMillis = limitMillis;
    answeredMillis = nowMillis;
    lookedMillis = nowMillis;
  }

  /** Looks at the clock; to be called far more often than every {@code freezeMillis}. */
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

  /** Takes an answer; true when people were told of the silence before it. */
  boolean answered(long nowMillis) {
    boolean ends = told;
    told = false;
    answeredMillis = nowMillis;
    return ends;
  }

  /** For how long nobody has answered while this process ran. */
  long silentMillis(long nowMillis) {
    return nowMillis - answeredMillis;
  }
}
