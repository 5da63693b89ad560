package io.vertigrad.benchmarks.overlap;

import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The times of a worker's step in a run's timeline; medians over steps and workers.
 *
 * @param computeMillis time in the model
 * @param waitMillis time from there to the start of the next gradient, in which the worker has no
 *     new parameters
 * @param exchangeMillis time from the end of the slowest worker's gradient to the start of the next
 *     gradient: the wait if all workers computed equally long
 */
record StepTimes(double computeMillis, double waitMillis, double exchangeMillis) {

  private static final String COMPUTE = "compute";
  private static final double MICROS = 1e3;

  private record Span(long begun, long ended) {}

  /**
   * Reads the steps of a timeline in Chrome's format.
   *
   * @param events the timeline's elements
   * @param first first step to count, from 0
   * @throws IllegalStateException when no step can be counted
   */
  static StepTimes of(List<JsonObject> events, long first) {
    Map<Integer, TreeMap<Long, Span>> workers = new TreeMap<>();
    for (JsonObject event : events) {
      if (COMPUTE.equals(event.getString("name"))) {
        long begun = event.getLong("ts");
        workers
            .computeIfAbsent(event.getInteger("pid"), worker -> new TreeMap<>())
            .put(
                event.getJsonObject("args").getLong("step"),
                new Span(begun, begun + event.getLong("dur")));
      }
    }
    List<Double> computing = new ArrayList<>();
    List<Double> waiting = new ArrayList<>();
    List<Double> exchanging = new ArrayList<>();
    for (TreeMap<Long, Span> steps : workers.values()) {
      for (Map.Entry<Long, Span> step : steps.tailMap(first).entrySet()) {
        Span next = steps.get(step.getKey() + 1);
        OptionalLong last = lastEnd(workers.values(), step.getKey());
        if (next != null && last.isPresent()) {
          computing.add((step.getValue().ended() - step.getValue().begun()) / MICROS);
          waiting.add((next.begun() - step.getValue().ended()) / MICROS);
          exchanging.add((next.begun() - last.getAsLong()) / MICROS);
        }
      }
    }
    if (waiting.isEmpty()) {
      throw new IllegalStateException(
          "the timeline has no two steps in a row from step %s on, of %s workers"
              .formatted(first, workers.size()));
    }
    return new StepTimes(
        Repetitions.of(computing).median(),
        Repetitions.of(waiting).median(),
        Repetitions.of(exchanging).median());
  }

  /** Returns when the last worker ended a step's gradient; empty when any worker lacks the step. */
  private static OptionalLong lastEnd(Collection<TreeMap<Long, Span>> workers, long step) {
    return workers.stream().allMatch(steps -> steps.containsKey(step))
        ? workers.stream().mapToLong(steps -> steps.get(step).ended()).max()
        : OptionalLong.empty();
  }

  double millis() {
    return computeMillis + waitMillis;
  }
}
