package io.vertigrad.benchmarks.marginal;

import io.vertigrad.benchmarks.process.ThreadKind;
import io.vertigrad.benchmarks.process.ThreadSampler.Sample;
import io.vertx.core.json.JsonObject;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What a round costs when a run begins, and what it costs later.
 *
 * @param first the first fifth of N rounds, from the start of the job
 * @param steady N rounds from round N / 2, or from the round from which the compilers rest,
 *     whichever is later; in a run of 2 N rounds at most those to its end, at least N / 2
 * @param steadyFrom the round at which the second window begins
 * @param compilerShare the compilers' part of the processor time of the two seconds before it
 */
public record Phases(Window first, Window steady, double steadyFrom, double compilerShare) {

  /** The share of the processor time below which the compilers rest. */
  private static final double RESTING = 0.02;

  private static final long BEFORE_MILLIS = 2_000;
  private static final double NANOS_PER_MILLI = 1e6;

  /**
   * The cost of a round of all workers.
   *
   * @param wallMillis elapsed time
   * @param threads milliseconds of processor time by kind of thread
   */
  public record Window(double wallMillis, Map<ThreadKind, Double> threads) {

    public Window {
      threads = Map.copyOf(threads);
    }

    /** Returns the processor time of all threads. */
    public double cpuMillis() {
      return threads.values().stream().mapToDouble(Double::doubleValue).sum();
    }
  }

  /**
   * Returns what a reader must know of a run in which the compilers did not rest in time.
   *
   * @param compilerShare as of this record
   * @return empty when they did
   */
  public static Optional<String> warning(double compilerShare) {
    return compilerShare < RESTING
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "steady is the last quarter of the run, before which the compilers took %.1f %% of"
                    + " the processor time, expected less than %.0f %%: more --rounds",
                compilerShare * 100,
                RESTING * 100));
  }

  /**
   * Calculates the costs of a run.
   *
   * @param samples processor time while it ran, in their order
   * @param events of the run
   * @param rounds N, half of the run's rounds
   * @throws IllegalStateException when the run has too few of them
   */
  static Phases of(List<Sample> samples, List<JsonObject> events, int rounds) {
    if (samples.isEmpty() || samples.get(samples.size() - 1).nanos().isEmpty()) {
      throw new IllegalStateException(
          "found no processor time of threads, expected /proc/PID/task/TID/schedstat of Linux");
    }
    return new Calculation(threads(samples), progress(events), rounds).phases();
  }

  /** Returns the milliseconds of processor time by the time of a sample. */
  private static Map<ThreadKind, TreeMap<Double, Double>> threads(List<Sample> samples) {
    Map<ThreadKind, TreeMap<Double, Double>> threads = new EnumMap<>(ThreadKind.class);
    for (ThreadKind kind : ThreadKind.values()) {
      TreeMap<Double, Double> millis = new TreeMap<>();
      samples.forEach(
          one -> millis.put((double) one.timeMillis(), one.nanos(kind) / NANOS_PER_MILLI));
      threads.put(kind, millis);
    }
    return threads;
  }

  /**
   * Returns when the workers had taken which round, in milliseconds by the mean of their steps:
   * workers of async take as many steps together, but not each.
   */
  private static TreeMap<Double, Double> progress(List<JsonObject> events) {
    double start =
        events.stream()
            .filter(event -> event.getString("type").equals("jobStarted"))
            .mapToDouble(event -> event.getDouble("timeMillis"))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("events.jsonl: found no jobStarted"));
    Map<Integer, TreeMap<Double, Double>> ranks = new TreeMap<>();
    events.stream()
        .filter(event -> event.getString("type").equals("workerProgress"))
        .forEach(
            event ->
                ranks
                    .computeIfAbsent(
                        event.getInteger("rank"), rank -> new TreeMap<>(Map.of(start, 0.0)))
                    .merge(event.getDouble("timeMillis"), event.getDouble("step"), Math::max));
    if (ranks.isEmpty()) {
      throw new IllegalStateException("events.jsonl: found no workerProgress");
    }
    TreeMap<Double, Double> times = new TreeMap<>();
    ranks.values().stream()
        .flatMap(steps -> steps.keySet().stream())
        .sorted()
        .forEach(
            time ->
                times.putIfAbsent(
                    ranks.values().stream()
                        .mapToDouble(steps -> at(steps, time))
                        .average()
                        .orElseThrow(),
                    time));
    return times;
  }

  /** Returns the value at a place, between those of the nearest; outside that of the nearest. */
  private static double at(TreeMap<Double, Double> values, double place) {
    Map.Entry<Double, Double> before = values.floorEntry(place);
    Map.Entry<Double, Double> after = values.ceilingEntry(place);
    if (before == null || after == null) {
      return (before == null ? after : before).getValue();
    }
    double distance = after.getKey() - before.getKey();
    return distance == 0
        ? after.getValue()
        : before.getValue()
            + (place - before.getKey()) / distance * (after.getValue() - before.getValue());
  }

  /** Interpolates between samples, and between events. */
  private record Calculation(
      Map<ThreadKind, TreeMap<Double, Double>> threads, TreeMap<Double, Double> times, int rounds) {

    Phases phases() {
      double from = 1.5 * rounds;
      double earliest = reached(rounds / 2.0);
      double latest = reached(from);
      double start = latest;
      if (compilerShare(earliest) < RESTING) {
        start = earliest;
      } else {
        for (double time : threads.get(ThreadKind.COMPILERS).keySet()) {
          if (time > earliest && time < latest && compilerShare(time) < RESTING) {
            start = time;
            break;
          }
        }
      }
      if (start < latest) {
        from = start == earliest ? rounds / 2.0 : roundAt(start);
      }
      return new Phases(
          window(0, Math.floor(rounds / 5.0)),
          window(from, Math.min(from + rounds, 2.0 * rounds)),
          from,
          compilerShare(start));
    }

    private Window window(double from, double to) {
      double start = reached(from);
      double end = reached(to);
      Map<ThreadKind, Double> before = millis(start);
      Map<ThreadKind, Double> threads = millis(end);
      threads.replaceAll((kind, millis) -> (millis - before.get(kind)) / (to - from));
      Window window = new Window((end - start) / (to - from), threads);
      if (window.wallMillis() <= 0 || window.cpuMillis() <= 0) {
        throw new IllegalStateException(
            String.format(
                Locale.ROOT,
                "rounds %.0f to %.0f took %.2f ms, CPU %.2f ms each, expected more than 0: too few"
                    + " --rounds, or a busy machine",
                from,
                to,
                window.wallMillis(),
                window.cpuMillis()));
      }
      return window;
    }

    /** Returns the time at which a round was taken; of the last one, less than one may lack. */
    private double reached(double round) {
      if (times.lastKey() <= round - 1) {
        throw new IllegalStateException(
            String.format(
                Locale.ROOT,
                "events.jsonl: found %.1f steps of a worker on average, expected %.0f",
                times.lastKey(),
                round));
      }
      return at(times, round);
    }

    private double roundAt(double time) {
      TreeMap<Double, Double> rounds = new TreeMap<>();
      times.forEach((round, at) -> rounds.put(at, round));
      return at(rounds, time);
    }

    /** Returns the compilers' part of the processor time of the two seconds before a time. */
    private double compilerShare(double time) {
      Map<ThreadKind, Double> before = millis(time - BEFORE_MILLIS);
      Map<ThreadKind, Double> now = millis(time);
      double all = sum(now) - sum(before);
      double compilers = now.get(ThreadKind.COMPILERS) - before.get(ThreadKind.COMPILERS);
      return all > 0 ? compilers / all : 1;
    }

    private static double sum(Map<ThreadKind, Double> millis) {
      return millis.values().stream().collect(Collectors.summingDouble(Double::doubleValue));
    }

    /** Returns the processor time until a time. */
    private Map<ThreadKind, Double> millis(double time) {
      Map<ThreadKind, Double> millis = new EnumMap<>(ThreadKind.class);
      threads.forEach((kind, values) -> millis.put(kind, at(values, time)));
      return millis;
    }
  }
}
