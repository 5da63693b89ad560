package io.vertigrad.internal.security;

import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Recognizes copies of recorded messages; their proofs are valid, so only their numbers and times
 * reveal them.
 *
 * <p>A sender numbers its messages to each address, and the filter accepts a number once. The first
 * message of an unknown sender must have been sent after this filter was created, with a tolerance
 * for different clocks. So a message that was recorded in an earlier run cannot introduce a sender.
 *
 * <p>A published message reaches each consumer of a process separately, so its copies are accepted
 * for half a minute. In that time a copy changes nothing: pauses are numbered, memberships carry an
 * epoch, and a stop is final. Any thread may use it.
 */
final class ReplayFilter {

  /** Most milliseconds between a new sender's clock and this one's. */
  static final long CLOCKS_MILLIS = 60_000;

  /** Most milliseconds by which a new sender's message may seem older than this filter. */
  static final long EARLY_MILLIS = 5_000;

  private static final long COPIES_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final int MOST_SENDERS = 4_000;

  /** Numbers that are tracked; a number further behind the highest is refused. */
  private static final int WINDOW = 1_024;

  private final long beganMillis;
  private final Map<From, Heard> senders = new LinkedHashMap<>();

  /**
   * The sender and address for which messages are numbered.
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
   * Creates a filter that has seen no message.
   *
   * @param nowMillis the time of day
   */
  ReplayFilter(long nowMillis) {
    beganMillis = nowMillis;
  }

  /**
   * Checks a message whose code was correct.
   *
   * @param number number of the message, from 0
   * @param stampMillis the time of day by the sender's clock
   * @param nowMillis the time of day by this process's clock
   * @param nowNanos time of {@code System.nanoTime()}
   * @return why the message is refused; empty when it is new
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
