package io.vertigrad.benchmarks.chaos;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What {@code benchmarks/run chaos} was asked for.
 *
 * @param only plans whose name holds this text; empty for all
 * @param seed of what is done to a run
 * @param kills how many processes are killed, from 0
 * @param stops how many are stopped, from 0
 * @param everySeconds the mean time between two
 * @param stopAll how many runs, instead of all that, have all their members stopped early
 * @param cutSeconds for how long a worker's network is cut, and nothing else is done; 0 for not at
 *     all
 * @param victim whom it hits, each time; empty for everybody by turns
 * @param fault what is planted in the disturbed runs
 */
record ChaosOptions(
    String only,
    long seed,
    int kills,
    int stops,
    int stopAll,
    double everySeconds,
    int cutSeconds,
    String victim,
    ChaosFault fault) {

  private static final String PREFIX = "vertigrad.benchmarks.";

  /**
   * Reads what {@code benchmarks/run} passes on; 0 is a number like any other.
   *
   * @param property gives a system property by its name; null for none
   * @param quick whether few kills are enough where no number is named
   * @throws IllegalArgumentException naming the option, what was found and what was expected
   */
  static ChaosOptions read(UnaryOperator<String> property, boolean quick) {
    int cutSeconds = number(property, "cut", 0);
    ChaosOptions options =
        new ChaosOptions(
            text(property, "plan", ""),
            number(property, "seed", 1),
            number(property, "kills", cutSeconds > 0 ? 0 : quick ? 4 : 12),
            number(property, "stops", cutSeconds > 0 || quick ? 0 : 1),
            number(property, "stop-all", 0),
            every(property),
            cutSeconds,
            text(property, "victim", "").replace('-', ' '),
            ChaosFault.named(text(property, "fault", "none")));
    boolean more = options.kills > 0 || options.stops > 0 || options.stopAll > 0;
    if (cutSeconds > 0 && (more || !options.victim.isEmpty())) {
      throw new IllegalArgumentException(
          "--cut %d: expected no --kills, --stops, --stop-all and --victim with it"
              .formatted(cutSeconds));
    }
    return options;
  }

  /** What is done to a run of this plan. */
  List<Disturbance> disturbances(ChaosPlan plan) {
    return cutSeconds > 0
        ? List.of(Disturbance.cut(everySeconds, cutSeconds))
        : Disturbance.plan(victims(plan), seed, kills, stops, everySeconds);
  }

  /**
   * Whom the disturbances of a plan may hit.
   *
   * @throws IllegalArgumentException naming all there are, when the plan has nobody of that name
   */
  List<String> victims(ChaosPlan plan) {
    if (victim.isEmpty()) {
      return plan.victims();
    }
    if (!plan.victims().contains(victim)) {
      throw new IllegalArgumentException(
          "--victim %s: expected one of %s in plan %s"
              .formatted(victim, plan.victims(), plan.name()));
    }
    return List.of(victim);
  }

  private static String text(UnaryOperator<String> property, String name, String otherwise) {
    String found = property.apply(PREFIX + name);
    return found == null ? otherwise : found;
  }

  private static int number(UnaryOperator<String> property, String name, int otherwise) {
    String found = text(property, name, Integer.toString(otherwise));
    try {
      int number = Integer.parseInt(found);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new IllegalArgumentException(
        "--%s %s: expected a whole number from 0".formatted(name, found));
  }

  private static double every(UnaryOperator<String> property) {
    String found = text(property, "every", "6");
    try {
      double seconds = Double.parseDouble(found);
      if (seconds > 0 && Double.isFinite(seconds)) {
        return seconds;
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new IllegalArgumentException("--every %s: expected seconds, above 0".formatted(found));
  }
}
