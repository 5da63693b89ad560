package io.vertigrad.benchmarks.goodput;

import io.vertigrad.testkit.chaos.Disturbance;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;

/**
 * The options of {@code benchmarks/run goodput}.
 *
 * @param only cases whose name contains this text, or the one of that name; empty for all
 * @param seed seed of the victims and of the first kind of fault
 * @param faults number of faults, from 1
 * @param everySeconds time from one fault to the next, longer than any fault lasts
 * @param undisturbedSeconds for how long the run without faults is measured
 * @param evictMillis {@code exchange.evictMillis} of the jobs
 * @param spares workers more than the jobs have places for, which wait for one
 */
record GoodputOptions(
    String only,
    long seed,
    int faults,
    int everySeconds,
    int undisturbedSeconds,
    int evictMillis,
    int spares) {

  /** For how long a worker is stopped or cut off, in turn. */
  static final List<Integer> LASTS_SECONDS = List.of(3, 5, 8);

  /** What is measured begins so long after the job: compilers of ten processes take their time. */
  static final int WARM_UP_SECONDS = 60;

  private static final String PREFIX = "vertigrad.benchmarks.";
  private static final int LEAST_EVERY = 10;
  private static final int QUICK_FAULTS = 3;
  private static final int FAULTS = 20;
  private static final int EVERY = 29;
  private static final int UNDISTURBED = 45;
  private static final int EVICT_MILLIS = 2_000;

  /**
   * Reads the properties that {@code benchmarks/run} passes on.
   *
   * @param property returns a system property by its name; null when it is not set
   * @param quick whether a few faults are enough when no number is given
   * @throws IllegalArgumentException naming the option, what was found and what was expected
   */
  static GoodputOptions read(UnaryOperator<String> property, boolean quick) {
    String plan = property.apply(PREFIX + "plan");
    return new GoodputOptions(
        plan == null ? "" : plan,
        number(property, "seed", 1, 0),
        number(property, "faults", quick ? QUICK_FAULTS : FAULTS, 1),
        number(property, "every", EVERY, LEAST_EVERY),
        quick ? UNDISTURBED / 3 : UNDISTURBED,
        number(property, "evict", EVICT_MILLIS, 1),
        number(property, "spares", 0, 0));
  }

  /**
   * Plans the faults of a run: a kill, a stop and a cut in turn. The same arguments give the same
   * victims. Every worker is hit once before any is hit again; a cut always hits the worker at the
   * far end of the link.
   *
   * @param workers number of workers
   * @param cuts whether there is a link to cut; otherwise kills and stops take turns
   */
  List<Disturbance> plan(int workers, boolean cuts) {
    Random random = new Random(seed);
    int kinds = cuts ? 3 : 2;
    int first = random.nextInt(kinds);
    List<Integer> ranks = new ArrayList<>();
    List<Disturbance> plan = new ArrayList<>();
    double wait = Math.max(everySeconds, WARM_UP_SECONDS);
    for (int i = 0; i < faults; i++) {
      int kind = (first + i) % kinds;
      int lasts = kind == 0 ? 0 : LASTS_SECONDS.get(i / kinds % LASTS_SECONDS.size());
      if (kind < 2 && ranks.isEmpty()) {
        for (int rank = 0; rank < workers; rank++) {
          ranks.add(rank);
        }
        Collections.shuffle(ranks, random);
      }
      String victim = kind == 2 ? Disturbance.LINK : "worker " + ranks.remove(0);
      plan.add(new Disturbance(wait, true, victim, lasts));
      wait = everySeconds - lasts;
    }
    return plan;
  }

  private static int number(UnaryOperator<String> property, String name, int otherwise, int least) {
    String found = property.apply(PREFIX + name);
    try {
      int number = found == null ? otherwise : Integer.parseInt(found);
      if (number >= least) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The error below reports it.
    }
    throw new IllegalArgumentException(
        "--%s %s: expected a whole number from %s".formatted(name, found, least));
  }
}
