package io.vertigrad.dashboard;

import io.vertigrad.events.EventFile;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/**
 * The curves of a run that is over, of bounded length: training loss of all workers together, and
 * loss and accuracy of its tests.
 */
public final class RunCurves {

  private static final String[] TESTED = {"timeMillis", "version", "loss", "accuracy", "segment"};

  private final Curve losses = new Curve();
  private final TestCurve tests = new TestCurve();
  private final Map<Integer, WorkerProgress> reports = new LinkedHashMap<>();
  private final Set<Integer> ranks = new HashSet<>();
  private long startedMillis;

  private RunCurves() {}

  /** Reads {@code events.jsonl}. */
  public static RunCurves read(Path events) throws IOException {
    RunCurves curves = new RunCurves();
    EventFile.forEach(events, curves::add);
    curves.average();
    return curves;
  }

  /**
   * As JSON: {@code startedMillis}, and {@code training} and {@code tests}, columns of equal length
   * each, with the {@code segment} of each point: no line goes from one to the next.
   */
  public JsonObject toJson() {
    JsonObject training = losses.toJson();
    training.remove("samplesPerSecond");
    JsonObject tested = new JsonObject();
    for (String name : TESTED) {
      JsonArray column = new JsonArray();
      tests.toJson().forEach(test -> column.add(((JsonObject) test).getValue(name)));
      tested.put(name, column);
    }
    // A run whose metric is the accuracy has no other columns.
    JsonArray metrics = new JsonArray();
    JsonArray figures = new JsonArray();
    tests
        .toJson()
        .forEach(
            test -> {
              metrics.add(((JsonObject) test).getString("metric"));
              figures.add(((JsonObject) test).getValue("metricValue"));
            });
    if (metrics.stream().anyMatch(String.class::isInstance)) {
      tested.put("metric", metrics).put("metricValue", figures);
    }
    return new JsonObject()
        .put("startedMillis", startedMillis)
        .put("training", training)
        .put("tests", tested);
  }

  private void add(TrainingEvent event) {
    if (startedMillis == 0) {
      startedMillis = event.timeMillis();
    }
    if (event instanceof JobStarted started) {
      startedMillis = started.timeMillis();
    } else if (event instanceof Evaluated tested) {
      tests.add(tested);
    } else if (event instanceof WorkerProgress worker && worker.samples() > 0) {
      // A stage that others follow counts no samples and knows no loss.
      report(worker);
    } else if (event instanceof JobResumed) {
      interruptTraining();
      tests.interrupt();
    } else if (event instanceof MemberJoined joined && joined.incarnation() > 0) {
      cameBack(joined);
    }
  }

  /** While one of several workers was away the others were measured. */
  private void cameBack(MemberJoined joined) {
    if (joined.role().equals("evaluator")) {
      tests.interrupt();
    } else if (joined.role().equals("worker") && ranks.equals(Set.of(joined.rank()))) {
      interruptTraining();
    }
  }

  private void interruptTraining() {
    average();
    losses.interrupt();
  }

  private void report(WorkerProgress worker) {
    boolean late =
        reports.values().stream()
            .anyMatch(r -> worker.timeMillis() - r.timeMillis() > Curve.SHORTEST_GAP_MILLIS);
    if (late || reports.containsKey(worker.rank())) {
      average();
    }
    ranks.add(worker.rank());
    reports.put(worker.rank(), worker);
  }

  /** A point is the mean of one report of each worker, or of those that reported meanwhile. */
  private void average() {
    if (!reports.isEmpty()) {
      losses.add(
          Math.round(mean(WorkerProgress::timeMillis)),
          Math.round(mean(WorkerProgress::version)),
          mean(WorkerProgress::loss),
          0);
    }
    reports.clear();
  }

  private double mean(ToDoubleFunction<WorkerProgress> of) {
    return reports.values().stream().mapToDouble(of).average().orElseThrow();
  }
}
