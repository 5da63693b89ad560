package io.vertigrad.internal.security;

import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Tells a message that was proved from a copy of one that was recorded.
 *
 * <p>A sender numbers its messages to each address, and here a number counts once. A sender that is
 * heard of for the first time must have sent its message after this filter was made, by clocks that
 * may be a little apart, so that nothing recorded in an earlier run can introduce it.
 *
 * <p>A published message reaches each of a process's consumers by itself, so its copies count as
 * one for half a minute. In that time a copy changes nothing: pauses are numbered, memberships
 * carry an epoch, and a stop is final. Any thread.
 */
final class ReplayFilter {

  /** How far a new sender's clock may be from this one's. */
  static final long CLOCKS_MILLIS = 60_000;

  /** How much earlier than this filter a new sender's message may seem to be. */
  static final long EARLY_MILLIS = 5_000;

  private static final long COPIES_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final int MOST_SENDERS = 4_000;

  /** Numbers that are told apart; one that lies further behind the highest is refused. */
  private static final int WINDOW = 1_024;

  private final long beganMillis;
  private final Map<From, Heard> senders = new LinkedHashMap<>();

  /**
   * Whose messages are numbered.
   *
   * @param sent true for messages to one consumer, false for published ones
   */
  record From(String sender, String address, boolean sent) {}

  private static final class Heard {
    private final long[] numbers = new long[WINDOW];
    private final long[] arrived;
    private long highest = -1;

    private Heard(boolean sent) {
      arrived = sent ? null : new long[WINDOW];
      Arrays.fill(numbers, -1);
    }
  }

  /**
   * Begins to listen.
   *
   * @param nowMillis the time of day
   */
  ReplayFilter(long nowMillis) {
    beganMillis = nowMillis;
  }

  /**
   * Looks at a message whose code was right.
   *
   * @param number of the message, from 0
   * @param stampMillis the time of day by the sender's clock
   * @param nowMillis the time of day by this one's
   * @param nowNanos of {@code System.nanoTime()}
   * @return why it is refused; empty when it is new
   */
  synchronized Optional<String> refusal(
      From from, long number, long stampMillis, long nowMillis, long nowNanos) {
    Heard heard = senders.get(from);
    if (heard == null) {
      Optional<String> stranger = untimely(stampMillis, nowMillis);
      if (stranger.isPresent()) {
        return stranger;
      }
      if (senders.size() == MOST_SENDERS) {
        senders.remove(senders.keySet().iterator().next());
      }
      heard = new Heard(from.sent());
      senders.put(from, heard);
    }
    return isNew(heard, number, nowNanos)
        ? Optional.empty()
        : Optional.of("it is a copy of one that was here before");
  }

  private Optional<String> untimely(long stampMillis, long nowMillis) {
    if (Math.abs(nowMillis - stampMillis) > CLOCKS_MILLIS) {
      return Optional.of(
          String.format(
              Locale.ROOT,
              "its sender's clock says %s, %.0f s from this one's: it is old, or the clocks of the"
                  + " machines have to be set",
              Instant.ofEpochMilli(stampMillis),
              (nowMillis - stampMillis) / 1e3));
    }
    return stampMillis < beganMillis - EARLY_MILLIS
        ? Optional.of("it was sent before this process began to listen")
        : Optional.empty();
  }

  private static boolean isNew(Heard heard, long number, long nowNanos) {
    if (number < 0 || number <= heard.highest - WINDOW) {
      return false;
    }
    int place = (int) (number % WINDOW);
    if (heard.numbers[place] == number) {
      return heard.arrived != null && nowNanos - heard.arrived[place] < COPIES_NANOS;
    }
    heard.numbers[place] = number;
    heard.highest = Math.max(heard.highest, number);
    if (heard.arrived != null) {
      heard.arrived[place] = nowNanos;
    }
    return true;
  }
}
