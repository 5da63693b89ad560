package io.vertigrad.benchmarks.chaos;

import io.vertigrad.testkit.chaos.ChaosPlan;
import io.vertigrad.testkit.chaos.Disturbance;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The options of {@code benchmarks/run chaos}.
 *
 * @param only plans whose name contains this text; empty for all
 * @param seed seed of the plan of disturbances
 * @param kills number of processes to kill, from 0
 * @param stops number of processes to stop, from 0
 * @param everySeconds mean time between two disturbances
 * @param stopAll number of runs in which all members are stopped early, in place of other
 *     disturbances
 * @param cutSeconds for how long a worker's network is cut, as the only disturbance; 0 for no cut
 * @param victim the member that every disturbance hits; empty for all in turn
 * @param fault the fault planted in the disturbed runs
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
   * Reads the properties that {@code benchmarks/run} passes on; a given 0 counts as a number.
   *
   * @param property returns a system property by its name; null when it is not set
   * @param quick whether a few kills are enough when no number is given
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
          "--cut %s: expected no --kills, --stops, --stop-all and --victim with it"
              .formatted(cutSeconds));
    }
    return options;
  }

  /** Returns the disturbances of a run of this plan. */
  List<Disturbance> disturbances(ChaosPlan plan) {
    return cutSeconds > 0
        ? List.of(Disturbance.cut(everySeconds, cutSeconds))
        : Disturbance.plan(victims(plan), seed, kills, stops, everySeconds);
  }

  /**
   * Returns the members that a plan's disturbances may hit.
   *
   * @throws IllegalArgumentException naming all members, when the plan has none of that name
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
      // The error below reports it.
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
      // The error below reports it.
    }
    throw new IllegalArgumentException("--every %s: expected seconds, above 0".formatted(found));
  }
}
