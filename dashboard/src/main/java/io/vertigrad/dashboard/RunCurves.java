package io.vertigrad.dashboard;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Share;
import io.vertigrad.dashboard.EventLines.Name;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.ToDoubleFunction;

/**
 * The curves of a run: the training loss of all workers together, and loss and accuracy of each
 * test, or the accuracy of a stream's events so far. The number of points has a limit.
 */
public final class RunCurves {

  private static final Name STARTED = Name.type("jobStarted");
  private static final Name RESUMED = Name.type("jobResumed");
  private static final Name JOINED = Name.type("memberJoined");
  private static final Name PROGRESS = Name.type("workerProgress");
  private static final Name TESTED = Name.type("evaluated");
  private static final Name STREAMED = Name.type("streamTested");
  private static final Name SCALAR = Name.type("scalarReported");
  private static final Name TIME = Name.value("timeMillis");
  private static final Name ROLE = Name.value("role");
  private static final Name RANK = Name.value("rank");
  private static final Name INCARNATION = Name.value("incarnation");
  private static final Name VERSION = Name.value("version");
  private static final Name SAMPLES = Name.value("samples");
  private static final Name LOSS = Name.value("loss");
  private static final Name ACCURACY = Name.value("accuracy");
  private static final Name METRIC = Name.value("metric");
  private static final Name METRIC_VALUE = Name.value("metricValue");
  private static final Name SOURCE = Name.value("source");
  private static final Name SCALAR_NAME = Name.value("name");
  private static final Name VALUE = Name.value("value");
  private static final Name REPORTS = Name.value("reports");
  private static final Name NOT_FINITE = Name.value("notFinite");
  private static final Name VALUES = Name.value("values");
  private static final Name EVENTS = Name.value("events");
  private static final Name SCORE = Name.value("score");

  private final Curve losses = new Curve("version", "loss");
  private final Tests tests = new Tests();
  private final ScalarCurves scalars = new ScalarCurves();
  private final Map<Long, Report> reports = new LinkedHashMap<>();
  private final Map<Long, Streamed> streamed = new HashMap<>();
  private final Set<Long> ranks = new HashSet<>();
  private long startedMillis;
  private boolean started;
  private long newest;

  private record Report(long timeMillis, long version, double loss) {}

  /** A worker's tests of a stream, each of an event before it was trained on. */
  private record Streamed(long events, double score) {}

  private RunCurves() {}

  /**
   * Reads the curves from {@code events.jsonl}, as far as it is written; blocks.
   *
   * @param gone returns true when nobody waits for the curves any more
   * @throws CancellationException then
   */
  public static RunCurves read(Path events, BooleanSupplier gone) throws IOException {
    RunCurves curves = new RunCurves();
    EventLines.forEach(
        events,
        line -> {
          if (gone.getAsBoolean()) {
            throw new CancellationException("nobody waits for the curves of a run any more");
          }
          curves.add(line);
        });
    curves.average();
    return curves;
  }

  /**
   * Returns the curves as JSON: {@code startedMillis}, {@code training}, {@code tests} and {@code
   * scalars}, by name and source. All but the first have columns of equal length, including the
   * {@code segment} of each point; no line connects two segments.
   */
  public JsonObject toJson() {
    return new JsonObject()
        .put("startedMillis", startedMillis)
        .put("training", losses.toJson())
        .put("tests", tests.toJson())
        .put("scalars", scalars.toJson());
  }

  private void add(EventLines event) {
    if (event.is(PROGRESS)) {
      long time = time(event);
      long rank = event.whole(RANK);
      long version = event.whole(VERSION);
      newest = Math.max(newest, version);
      // A stage that is not the last one counts no samples and has no loss.
      if (event.whole(SAMPLES) > 0) {
        report(rank, new Report(time, version, event.number(LOSS)));
      }
    } else if (event.is(TESTED)) {
      long time = time(event);
      long version = event.whole(VERSION);
      if (event.whole(SAMPLES) > 0) {
        double loss = event.number(LOSS);
        double accuracy = event.number(ACCURACY);
        String metric = event.text(METRIC);
        double value = metric.isEmpty() ? Double.NaN : event.number(METRIC_VALUE);
        tests.add(time, version, loss, accuracy, metric, value);
      }
    } else if (event.is(STREAMED)) {
      stream(event);
    } else if (event.is(SCALAR)) {
      scalars.add(scalar(event), 0, 0);
    } else if (event.is(STARTED)) {
      long time = time(event);
      startedMillis = started ? startedMillis : time;
      started = true;
    } else if (event.is(RESUMED)) {
      time(event);
      interruptTraining();
      tests.interrupt();
      scalars.interrupt();
    } else if (event.is(JOINED)) {
      time(event);
      join(event.text(ROLE), event.whole(RANK), event.whole(INCARNATION));
    } else if (startedMillis == 0) {
      time(event);
    }
  }

  /** Adds a point for all workers; shares of right answers become percent, as those of tests. */
  private void stream(EventLines event) {
    long time = time(event);
    long rank = event.whole(RANK);
    boolean values = event.isTrue(VALUES);
    long tested = event.whole(EVENTS);
    streamed.put(rank, new Streamed(tested, event.number(SCORE)));
    double all = streamed.values().stream().mapToLong(Streamed::events).sum();
    double mean = streamed.values().stream().mapToDouble(Streamed::score).sum() / all;
    if (values) {
      tests.add(time, newest, Double.NaN, Double.NaN, Metric.RMSE.key(), Math.sqrt(mean));
    } else {
      tests.add(time, newest, Double.NaN, new Share(mean).percent(), "", Double.NaN);
    }
  }

  /** Returns the time of an event; the run began at the first one until it says when it did. */
  private long time(EventLines event) {
    long time = event.whole(TIME);
    startedMillis = startedMillis == 0 ? time : startedMillis;
    return time;
  }

  private ScalarReported scalar(EventLines event) {
    long time = time(event);
    String source = event.text(SOURCE);
    String name = event.text(SCALAR_NAME);
    long version = event.whole(VERSION);
    double value = event.number(VALUE);
    long reports = event.whole(REPORTS);
    return new ScalarReported(time, source, name, version, value, reports, event.whole(NOT_FINITE));
  }

  private void join(String role, long rank, long incarnation) {
    if (incarnation == 0) {
      return;
    }
    if (role.equals("evaluator")) {
      tests.interrupt();
    } else if (role.equals("worker") && ranks.equals(Set.of(rank))) {
      // While one of several workers was away, the others were measured, so the curve continues.
      interruptTraining();
    }
  }

  private void interruptTraining() {
    average();
    losses.interrupt();
  }

  private void report(long rank, Report report) {
    boolean late = false;
    for (Report earlier : reports.values()) {
      late |= report.timeMillis() - earlier.timeMillis() > Curve.SHORTEST_GAP_MILLIS;
    }
    if (late || reports.containsKey(rank)) {
      average();
    }
    ranks.add(rank);
    reports.put(rank, report);
  }

  /** Adds a point: the mean of one report of each worker, or of the workers that have reported. */
  private void average() {
    if (!reports.isEmpty()) {
      losses.add(
          Math.round(mean(Report::timeMillis)),
          Math.round(mean(Report::version)),
          mean(Report::loss));
    }
    reports.clear();
  }

  private double mean(ToDoubleFunction<Report> of) {
    double sum = 0;
    for (Report report : reports.values()) {
      sum += of.applyAsDouble(report);
    }
    return sum / reports.size();
  }

  /** The tests, oldest first; when it is full, it drops every second one. */
  private static final class Tests {

    private static final String[] NAMES = {
      "timeMillis", "version", "loss", "accuracy", "segment", "metricValue"
    };
    private static final int WHOLE = 2;
    private static final int SEGMENT = 4;

    private final double[][] columns = new double[NAMES.length][TestCurve.CAPACITY];
    private String metric = "";
    private int size;
    private int segment;
    private boolean begun;

    void interrupt() {
      segment += begun ? 1 : 0;
      begun = false;
    }

    void add(long time, long version, double loss, double accuracy, String kind, double value) {
      if (size == TestCurve.CAPACITY) {
        size /= 2;
        for (double[] column : columns) {
          for (int i = 0; i < size; i++) {
            column[i] = column[2 * i + 1];
          }
        }
      }
      double[] values = {time, version, loss, accuracy, segment, value};
      for (int c = 0; c < columns.length; c++) {
        columns[c][size] = values[c];
      }
      metric = kind.isEmpty() ? metric : kind;
      size++;
      begun = true;
    }

    /** Returns the columns; those of the metric exist only when it is not the accuracy. */
    JsonObject toJson() {
      JsonObject json = new JsonObject();
      for (int c = 0; c <= SEGMENT; c++) {
        json.put(NAMES[c], column(c));
      }
      if (!metric.isEmpty()) {
        JsonArray metrics = new JsonArray();
        JsonArray values = column(SEGMENT + 1);
        values.forEach(value -> metrics.add(value == null ? null : metric));
        json.put("metric", metrics).put(NAMES[SEGMENT + 1], values);
      }
      return json;
    }

    private JsonArray column(int c) {
      JsonArray json = new JsonArray();
      for (int i = 0; i < size; i++) {
        double value = columns[c][i];
        if (c < WHOLE || c == SEGMENT) {
          json.add(Math.round(value));
        } else {
          json.add(Double.isFinite(value) ? (Object) value : null);
        }
      }
      return json;
    }
  }
}
