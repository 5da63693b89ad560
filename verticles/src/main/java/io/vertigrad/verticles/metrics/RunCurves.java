package io.vertigrad.verticles.metrics;

import io.vertigrad.verticles.metrics.TrainingEvent.Evaluated;
import io.vertigrad.verticles.metrics.TrainingEvent.JobStarted;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * The curves of a run that is over, of bounded length: training loss of all workers together, and
 * loss and accuracy of its tests.
 */
public final class RunCurves {

  private static final String[] TESTED = {"timeMillis", "version", "loss", "accuracy"};

  private final Curve losses = new Curve();
  private final TestCurve tests = new TestCurve();
  private final Map<Integer, WorkerProgress> reports = new LinkedHashMap<>();
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
   * each.
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
    }
  }

  private void report(WorkerProgress worker) {
    if (reports.containsKey(worker.rank())) {
      average();
    }
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
