package io.vertigrad.dashboard;

import io.vertigrad.events.EventFile;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
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
 * The curves of a run that is over: the training loss of all workers together, and loss and
 * accuracy of each test. The number of points has a limit.
 */
public final class RunCurves {

  private static final String[] TESTED = {"timeMillis", "version", "loss", "accuracy", "segment"};

  private final Curve losses = new Curve("version", "loss");
  private final TestCurve tests = new TestCurve();
  private final ScalarCurves scalars = new ScalarCurves();
  private final Map<Integer, WorkerProgress> reports = new LinkedHashMap<>();
  private final Set<Integer> ranks = new HashSet<>();
  private long startedMillis;

  private RunCurves() {}

  /** Reads the curves from {@code events.jsonl}. */
  public static RunCurves read(Path events) throws IOException {
    RunCurves curves = new RunCurves();
    EventFile.forEach(events, curves::add);
    curves.average();
    return curves;
  }

  /**
   * Returns the curves as JSON: {@code startedMillis}, {@code training}, {@code tests} and {@code
   * scalars}, by name and source. All but the first have columns of equal length, including the
   * {@code segment} of each point; no line connects two segments.
   */
  public JsonObject toJson() {
    JsonObject tested = new JsonObject();
    for (String name : TESTED) {
      JsonArray column = new JsonArray();
      tests.toJson().forEach(test -> column.add(((JsonObject) test).getValue(name)));
      tested.put(name, column);
    }
    // These columns exist only when the run's metric is not the accuracy.
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
        .put("training", losses.toJson())
        .put("tests", tested)
        .put("scalars", scalars.toJson());
  }

  private void add(TrainingEvent event) {
    tests.apply(event);
    if (startedMillis == 0) {
      startedMillis = event.timeMillis();
    }
    if (event instanceof JobStarted started) {
      startedMillis = started.timeMillis();
    } else if (event instanceof WorkerProgress worker && worker.samples() > 0) {
      // A stage that is not the last one counts no samples and has no loss.
      report(worker);
    } else if (event instanceof ScalarReported scalar) {
      scalars.add(scalar, 0, 0);
    } else if (event instanceof JobResumed) {
      scalars.interrupt();
      interruptTraining();
    } else if (event instanceof MemberJoined joined
        && joined.role() == Role.WORKER
        && joined.incarnation() > 0
        && ranks.equals(Set.of(joined.rank()))) {
      // While one of several workers was away, the others were measured, so the curve continues.
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

  /** Adds a point: the mean of one report of each worker, or of the workers that have reported. */
  private void average() {
    if (!reports.isEmpty()) {
      losses.add(
          Math.round(mean(WorkerProgress::timeMillis)),
          Math.round(mean(WorkerProgress::version)),
          mean(WorkerProgress::loss));
    }
    reports.clear();
  }

  private double mean(ToDoubleFunction<WorkerProgress> of) {
    return reports.values().stream().mapToDouble(of).average().orElseThrow();
  }
}
