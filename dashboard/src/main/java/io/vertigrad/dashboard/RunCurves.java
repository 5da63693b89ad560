package io.vertigrad.dashboard;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Share;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFile;
import io.vertigrad.observability.EventFold;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.ToDoubleFunction;

/**
 * The curves of a run: the training loss of all workers together, loss and accuracy of each test or
 * the accuracy of a stream's events so far, and scalars. The number of points has a limit.
 *
 * <p>They follow the events as {@code events.jsonl} has them. A run saves them as {@code
 * curves.json} while it goes on, with the length of {@code events.jsonl} until then, so that a
 * reader needs only the events after that. Single-threaded.
 */
public final class RunCurves {

  /** Version of {@code curves.json}; it changes when an older reader would misunderstand it. */
  public static final int SCHEMA = 1;

  private static final String EVENT_BYTES = "eventBytes";
  private static final String OPEN = "open";
  private static final long MOST_BYTES = 1 << 26;

  private final Curve losses = new Curve("version", "loss");
  private final Tests tests = new Tests();
  private final ScalarCurves scalars = new ScalarCurves();
  private final Map<Integer, Report> reports = new LinkedHashMap<>();
  private final Map<Integer, Streamed> streamed = new LinkedHashMap<>();
  private final Set<Integer> ranks = new HashSet<>();
  private final EventFold fold =
      new EventFold()
          .on(WorkerProgress.class, this::progressed)
          .on(Evaluated.class, tests::add)
          .on(StreamTested.class, this::streamed)
          .on(ScalarReported.class, scalar -> scalars.add(scalar))
          .on(JobStarted.class, this::started)
          .on(JobResumed.class, resumed -> interrupt())
          .on(MemberJoined.class, this::joined);

  private long startedMillis;
  private boolean started;
  private boolean saved;
  private long newest;

  private record Report(long timeMillis, long version, double loss) {}

  /** A worker's tests of a stream, each of an event before it was trained on. */
  private record Streamed(long events, double score) {}

  /** Creates the curves of a run before its first event. */
  public RunCurves() {}

  /**
   * Reads the curves of a run, as far as they are written; blocks. Without a valid {@code
   * curves.json} it reads all events.
   *
   * @param file path of {@code curves.json}, which may be missing or damaged
   * @param events path of {@code events.jsonl}
   * @param most how many bytes of events to read at most
   * @param gone returns true when nobody waits for the curves any more
   * @throws CancellationException then
   * @throws IOException when the events cannot be read, or are more
   */
  public static RunCurves read(Path file, Path events, long most, BooleanSupplier gone)
      throws IOException {
    RunCurves curves = new RunCurves();
    long from = 0;
    if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Files.size(file) < MOST_BYTES) {
      try {
        from =
            curves.goOn(
                new JsonObject(Buffer.buffer(Files.readAllBytes(file))), Files.size(events));
      } catch (RuntimeException damaged) {
        curves = new RunCurves();
      }
    }
    long bytes = Files.size(events) - from;
    if (bytes > most) {
      throw new IOException(
          String.format(Locale.ROOT, "has %,d bytes, expected at most %,d", bytes, most));
    }
    RunCurves found = curves;
    EventFile.forEach(
        events,
        from,
        found.fold,
        event -> {
          if (gone.getAsBoolean()) {
            throw new CancellationException("nobody waits for the curves of a run any more");
          }
          found.apply(event);
        });
    return curves;
  }

  /**
   * Processes the next event of the run.
   *
   * @param event any event, as it is in {@code events.jsonl}
   */
  public void apply(TrainingEvent event) {
    // The run began at the first event of these kinds until it says when it did.
    boolean read = fold.apply(event);
    startedMillis = read && startedMillis == 0 ? event.timeMillis() : startedMillis;
  }

  /** Returns whether a valid {@code curves.json} was read, so that not all events had to be. */
  public boolean wereSaved() {
    return saved;
  }

  /**
   * Returns the curves as JSON: {@code startedMillis}, {@code training}, {@code tests} and {@code
   * scalars}, by name and source. All but the first have columns of equal length, including the
   * {@code segment} of each point; no line connects two segments. Ends the newest point.
   */
  public JsonObject toJson() {
    average();
    return new JsonObject()
        .put("startedMillis", startedMillis)
        .put("training", losses.toJson())
        .put("tests", tests.toJson())
        .put("scalars", scalars.toJson());
  }

  /**
   * Returns {@code curves.json}.
   *
   * @param eventBytes length of {@code events.jsonl} with all events so far, and no others
   */
  public JsonObject save(long eventBytes) {
    JsonObject waiting = new JsonObject();
    reports.forEach(
        (rank, report) ->
            waiting.put(
                String.valueOf(rank),
                JsonArray.of(report.timeMillis(), report.version(), known(report.loss()))));
    JsonObject scores = new JsonObject();
    streamed.forEach(
        (rank, test) ->
            scores.put(String.valueOf(rank), JsonArray.of(test.events(), test.score())));
    JsonArray all = new JsonArray();
    ranks.forEach(all::add);
    return new JsonObject()
        .put("schema", SCHEMA)
        .put(EVENT_BYTES, eventBytes)
        .put("startedMillis", startedMillis)
        .put("training", losses.save())
        .put("tests", tests.save())
        .put("scalars", scalars.save())
        .put(
            OPEN,
            new JsonObject()
                .put("started", started)
                .put("newest", newest)
                .put("ranks", all)
                .put("reports", waiting)
                .put("streamed", scores));
  }

  /**
   * Goes on with saved curves.
   *
   * @param most length of {@code events.jsonl} now
   * @return its length when they were saved
   * @throws RuntimeException when they are damaged, of another version or of other events
   */
  private long goOn(JsonObject json, long most) {
    long eventBytes = json.getLong(EVENT_BYTES);
    if (json.getInteger("schema") != SCHEMA || eventBytes < 0 || eventBytes > most) {
      throw new IllegalArgumentException("no curves of these events");
    }
    startedMillis = json.getLong("startedMillis");
    losses.goOn(json.getJsonObject("training"));
    tests.goOn(json.getJsonObject("tests"));
    scalars.goOn(json.getJsonObject("scalars"));
    JsonObject open = json.getJsonObject(OPEN);
    started = open.getBoolean("started");
    newest = open.getLong("newest");
    open.getJsonArray("ranks").forEach(rank -> ranks.add((Integer) rank));
    JsonObject waiting = open.getJsonObject("reports");
    for (String rank : waiting.fieldNames()) {
      JsonArray report = waiting.getJsonArray(rank);
      reports.put(
          Integer.valueOf(rank),
          new Report(report.getLong(0), report.getLong(1), value(report.getDouble(2))));
    }
    JsonObject scores = open.getJsonObject("streamed");
    for (String rank : scores.fieldNames()) {
      JsonArray test = scores.getJsonArray(rank);
      streamed.put(Integer.valueOf(rank), new Streamed(test.getLong(0), test.getDouble(1)));
    }
    saved = true;
    return eventBytes;
  }

  /** Returns the metric of the tests. */
  public Metric metric() {
    return Metric.of(tests.metric);
  }

  /**
   * Returns the tests by version: the accuracy in percent or the value of the metric, NaN if it is
   * not finite. Of a version that was tested twice it has the later test.
   */
  public NavigableMap<Long, Double> figures() {
    return tests.figures();
  }

  /**
   * Returns the last value of each scalar by its name: the mean over its sources, NaN if one of
   * them ended with a value that is not finite.
   */
  public Map<String, Double> lastScalars() {
    return scalars.last();
  }

  private void started(JobStarted event) {
    startedMillis = started ? startedMillis : event.timeMillis();
    started = true;
  }

  private void interrupt() {
    interruptTraining();
    tests.interrupt();
    scalars.interrupt();
  }

  /** Adds a point for all workers; shares of right answers become percent, as those of tests. */
  private void streamed(StreamTested test) {
    streamed.put(test.rank(), new Streamed(test.tests().events(), test.tests().score()));
    double all = streamed.values().stream().mapToLong(Streamed::events).sum();
    double mean = streamed.values().stream().mapToDouble(Streamed::score).sum() / all;
    boolean values = test.tests().values();
    tests.add(
        test.timeMillis(),
        newest,
        Double.NaN,
        values ? Double.NaN : new Share(mean).percent(),
        values ? Metric.RMSE.key() : "",
        values ? Math.sqrt(mean) : Double.NaN);
  }

  private void joined(MemberJoined event) {
    if (event.incarnation() == 0) {
      return;
    }
    if (event.role() == Role.EVALUATOR) {
      tests.interrupt();
    } else if (event.role() == Role.WORKER && ranks.equals(Set.of(event.rank()))) {
      // While one of several workers was away, the others were measured, so the curve continues.
      interruptTraining();
    }
  }

  private void interruptTraining() {
    average();
    losses.interrupt();
  }

  private void progressed(WorkerProgress worker) {
    newest = Math.max(newest, worker.version());
    // A stage that is not the last one counts no samples and has no loss.
    if (worker.samples() == 0) {
      return;
    }
    boolean late = false;
    for (Report earlier : reports.values()) {
      late |= worker.timeMillis() - earlier.timeMillis() > Curve.SHORTEST_GAP_MILLIS;
    }
    if (late || reports.containsKey(worker.rank())) {
      average();
    }
    ranks.add(worker.rank());
    reports.put(worker.rank(), new Report(worker.timeMillis(), worker.version(), worker.loss()));
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

  private static Double known(double value) {
    return Double.isFinite(value) ? value : null;
  }

  private static double value(Double known) {
    return known == null ? Double.NaN : known;
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

    void add(Evaluated test) {
      if (test.samples() > 0) {
        double value = test.metric().isEmpty() ? Double.NaN : test.metricValue();
        add(test.timeMillis(), test.version(), test.loss(), test.accuracy(), test.metric(), value);
      }
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

    NavigableMap<Long, Double> figures() {
      double[] found = columns[Metric.of(metric) == Metric.ACCURACY ? SEGMENT - 1 : SEGMENT + 1];
      NavigableMap<Long, Double> figures = new TreeMap<>();
      for (int i = 0; i < size; i++) {
        figures.put(Math.round(columns[1][i]), found[i]);
      }
      return figures;
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

    JsonObject save() {
      return toJson()
          .put(
              OPEN,
              new JsonObject().put("metric", metric).put("segment", segment).put("begun", begun));
    }

    void goOn(JsonObject saved) {
      size = saved.getJsonArray(NAMES[0]).size();
      for (int c = 0; c < columns.length; c++) {
        JsonArray column = saved.getJsonArray(NAMES[c], new JsonArray());
        for (int i = 0; i < size; i++) {
          columns[c][i] = i < column.size() ? value(column.getDouble(i)) : Double.NaN;
        }
      }
      JsonObject open = saved.getJsonObject(OPEN);
      metric = open.getString("metric");
      segment = open.getInteger("segment");
      begun = open.getBoolean("begun");
    }

    private JsonArray column(int c) {
      JsonArray json = new JsonArray();
      for (int i = 0; i < size; i++) {
        double value = columns[c][i];
        if (c < WHOLE || c == SEGMENT) {
          json.add(Math.round(value));
        } else {
          json.add(known(value));
        }
      }
      return json;
    }
  }
}
