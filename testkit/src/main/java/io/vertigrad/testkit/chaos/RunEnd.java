package io.vertigrad.testkit.chaos;

import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * The result of a run.
 *
 * @param exit the last exit code of {@code train} or {@code resume}; 0 when a standby finished the
 *     run and its code is unknown
 * @param seconds time from the command's start to the end of the run
 * @param summary its {@code summary.json}; empty when there is none
 * @param events its {@code events.jsonl}
 * @param strikes the disturbances that took place
 * @param leftBehind processes of the run that still ran some time after its end
 * @param output the last lines of its commands
 */
public record RunEnd(
    int exit,
    double seconds,
    JsonObject summary,
    List<JsonObject> events,
    List<Strike> strikes,
    List<String> leftBehind,
    String output) {

  /**
   * A disturbance that took place.
   *
   * @param disturbance the planned disturbance
   * @param millis its time, in milliseconds since 1970
   * @param resumedMillis when {@code resume} was started because of it; 0 if it was not
   */
  public record Strike(Disturbance disturbance, long millis, long resumedMillis) {

    /** Returns true when a member that has left was stopped or cut off just before, or still is. */
    boolean silenced(JsonObject memberLeft) {
      long since = memberLeft.getLong("timeMillis") - millis;
      String role = memberLeft.getString("role");
      String who = role + " " + memberLeft.getInteger("rank");
      boolean isVictim =
          disturbance.victim().equals(Disturbance.MEMBERS)
              || (isCut() ? role.equals("worker") : who.equals(disturbance.victim()));
      return isVictim
          && since >= 0
          && since <= 1_000L * (disturbance.stoppedSeconds() + NOTICED_SECONDS);
    }

    boolean isCut() {
      return disturbance.victim().equals(Disturbance.LINK);
    }
  }

  /** The coordinator checks a few times a second, but only when it gets processor time. */
  private static final int NOTICED_SECONDS = 10;

  public RunEnd {
    events = List.copyOf(events);
    strikes = List.copyOf(strikes);
    leftBehind = List.copyOf(leftBehind);
  }

  /** Returns how many workers were evicted because they were silent. */
  public long evictedWorkers() {
    return events.stream()
        .filter(event -> event.getString("type").equals("memberLeft"))
        .filter(event -> event.getString("role").equals("worker"))
        .filter(event -> event.getString("reason", "").startsWith("silent for"))
        .map(event -> event.getInteger("rank"))
        .distinct()
        .count();
  }

  /** Returns the hash of the final parameters; empty when there is none. */
  public String hash() {
    return summary.getString("parametersHash", "");
  }

  /**
   * Returns the seconds from a disturbance to the first report of a version that was not reached
   * before; NaN when there is none. For a cut it returns the longest time between two such reports,
   * until {@link #NOTICED_SECONDS} after the cut's end. Steps from before a cut are reported after
   * it began, so the first report means nothing.
   */
  public double gap(Strike strike) {
    return strike.isCut() ? longestGap(strike) : gap(events, strike.millis());
  }

  private double longestGap(Strike cut) {
    long end = cut.millis() + 1_000L * (cut.disturbance().stoppedSeconds() + NOTICED_SECONDS);
    long highest = 0;
    long last = cut.millis();
    double longest = Double.NaN;
    for (JsonObject event : events) {
      if (version(event) > highest) {
        highest = version(event);
        long now = event.getLong("timeMillis");
        if (now > cut.millis() && last < end) {
          longest = Math.max(Double.isNaN(longest) ? 0 : longest, (now - last) / 1e3);
        }
        last = Math.max(last, now);
      }
    }
    return longest;
  }

  /** Returns true when another disturbance took place before the run recovered from this one. */
  public boolean overlaps(Strike strike) {
    double end = strike.millis() + 1e3 * gap(strike);
    return strikes.stream()
        .anyMatch(
            other ->
                other != strike
                    && other.millis() <= end
                    && other.millis() + 1e3 * gap(other) >= strike.millis());
  }

  /** Returns the seconds from a time to the first report of a version above all earlier ones. */
  static double gap(List<JsonObject> events, long since) {
    long before =
        events.stream()
            .filter(event -> event.getLong("timeMillis") <= since)
            .mapToLong(RunEnd::version)
            .max()
            .orElse(0);
    return seconds(events, since, before);
  }

  /** Returns the seconds from the start of {@code resume} to the first report of training. */
  public double resumeSeconds(Strike strike) {
    return seconds(events, strike.resumedMillis(), 0);
  }

  private static double seconds(List<JsonObject> events, long since, long above) {
    return events.stream()
        .filter(event -> event.getLong("timeMillis") > since && version(event) > above)
        .mapToLong(event -> event.getLong("timeMillis"))
        .min()
        .stream()
        .mapToDouble(first -> (first - since) / 1e3)
        .findFirst()
        .orElse(Double.NaN);
  }

  private static long version(JsonObject event) {
    return switch (event.getString("type")) {
      case "serverProgress", "workerProgress", "peerExchange" -> event.getLong("version", 0L);
      default -> 0;
    };
  }
}
