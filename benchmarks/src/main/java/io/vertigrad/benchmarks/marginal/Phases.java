package io.vertigrad.benchmarks.marginal;

import io.vertigrad.benchmarks.process.ThreadKind;
import io.vertigrad.benchmarks.process.ThreadSampler.Sample;
import io.vertx.core.json.JsonObject;
import java.util.Comparator;
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
    return new Calculation(samples, ranks(events), rounds).phases();
  }

  /**
   * Returns when each rank had reached which of its rounds: the time, in milliseconds, by the
   * number of rounds.
   */
  private static List<TreeMap<Double, Double>> ranks(List<JsonObject> events) {
    double start =
        events.stream()
            .filter(event -> event.getString("type").equals("jobStarted"))
            .mapToDouble(event -> event.getDouble("timeMillis"))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("events.jsonl: found no jobStarted"));
    Map<Integer, TreeMap<Double, Double>> ranks = new TreeMap<>();
    events.stream()
        .filter(event -> event.getString("type").equals("workerProgress"))
        .sorted(Comparator.comparing(event -> event.getLong("timeMillis")))
        .forEach(
            event -> {
              TreeMap<Double, Double> times =
                  ranks.computeIfAbsent(
                      event.getInteger("rank"), rank -> new TreeMap<>(Map.of(0.0, start)));
              times.putIfAbsent(event.getDouble("step"), event.getDouble("timeMillis"));
            });
    if (ranks.isEmpty()) {
      throw new IllegalStateException("events.jsonl: found no workerProgress");
    }
    return List.copyOf(ranks.values());
  }

  /** Interpolates between samples, and between events. */
  private record Calculation(
      List<Sample> samples, List<TreeMap<Double, Double>> ranks, int rounds) {

    Phases phases() {
      double from = 1.5 * rounds;
      double earliest = reached(rounds / 2.0);
      double latest = reached(from);
      double start = latest;
      if (compilerShare(earliest) < RESTING) {
        start = earliest;
      } else {
        for (Sample sample : samples) {
          double time = sample.timeMillis();
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

    /** Returns the time at which the last rank reached a round. */
    private double reached(double round) {
      return ranks.stream().mapToDouble(times -> reached(times, round)).max().orElseThrow();
    }

    private static double reached(TreeMap<Double, Double> times, double round) {
      Map.Entry<Double, Double> after = times.ceilingEntry(round);
      if (after == null) {
        throw new IllegalStateException(
            String.format(
                Locale.ROOT,
                "events.jsonl: found a worker that ended at step %.0f, expected %.0f",
                times.lastKey(),
                round));
      }
      Map.Entry<Double, Double> before = times.floorEntry(round);
      return between(round, before.getKey(), before.getValue(), after.getKey(), after.getValue());
    }

    /** Returns the round that the slowest rank had reached at a time. */
    private double roundAt(double time) {
      return ranks.stream().mapToDouble(times -> roundAt(times, time)).min().orElseThrow();
    }

    private static double roundAt(TreeMap<Double, Double> times, double time) {
      Map.Entry<Double, Double> before = times.firstEntry();
      for (Map.Entry<Double, Double> after : times.entrySet()) {
        if (after.getValue() >= time) {
          return between(
              time, before.getValue(), before.getKey(), after.getValue(), after.getKey());
        }
        before = after;
      }
      return before.getKey();
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

    /** Returns the processor time until a time; outside the samples that of the nearest one. */
    private Map<ThreadKind, Double> millis(double time) {
      Sample before = samples.get(0);
      Sample after = before;
      for (Sample sample : samples) {
        before = after;
        after = sample;
        if (sample.timeMillis() >= time) {
          break;
        }
      }
      double at = Math.max(before.timeMillis(), Math.min(after.timeMillis(), time));
      Map<ThreadKind, Double> millis = new EnumMap<>(ThreadKind.class);
      for (ThreadKind kind : ThreadKind.values()) {
        millis.put(
            kind,
            between(
                    at,
                    before.timeMillis(),
                    before.nanos(kind),
                    after.timeMillis(),
                    after.nanos(kind))
                / NANOS_PER_MILLI);
      }
      return millis;
    }

    /** Returns the value at a place between two places with their values. */
    private static double between(
        double place, double first, double firstValue, double second, double secondValue) {
      return second <= first
          ? secondValue
          : firstValue + (place - first) / (second - first) * (secondValue - firstValue);
    }
  }
}
