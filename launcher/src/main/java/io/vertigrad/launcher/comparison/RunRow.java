package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.JobKeys;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLaunch;
import io.vertigrad.launcher.run.RunLock;
import io.vertigrad.launcher.run.RunSummary;
import io.vertigrad.observability.EventFile;
import io.vertigrad.observability.EventFold;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;

/**
 * Builds what a list shows of a run, in whatever state its folder is. Reads the small files, and of
 * {@code events.jsonl} the beginning; the end too while there is no summary.
 */
final class RunRow {

  static final String STATE = "state";
  static final String FINISHED = "finished";
  static final String RUNNING = "running";
  static final String PROBLEM = "problem";
  static final String GUESSES = "guesses";
  static final String OUTLIERS = "outliers";
  private static final String SETTINGS = "settings";

  static final String TEST_SAMPLES = "testSamples";
  static final String WHOLE_TEST_SET = "wholeTestSet";

  static final String DEVICE = "workers.device";

  /** End of the key that names a strategy, a model or another part. */
  static final String NAME_KEY = ".name";

  private static final String SWEEP = "sweep";
  private static final String LAST_VERSION = "lastVersion";

  private static final String[] RESULTS = {
    "seconds",
    "version",
    "samples",
    "samplesPerSecond",
    "loss",
    "trainingLoss",
    "accuracy",
    TEST_SAMPLES
  };

  private static final int LONGEST_SETTING = 200;
  private static final double MILLIS = 1_000;

  private static final int FIRST_BYTES = 64 * 1024;

  /** Holds the last report of each of some hundred members. */
  private static final int LAST_BYTES = 256 * 1024;

  private static final String BROKE_OFF = "broke off";

  private final RunDirectory run;
  private final boolean runs;
  private final JsonObject row = new JsonObject();
  private final List<String> problems = new ArrayList<>();
  private final Map<Integer, WorkerProgress> workers = new HashMap<>();
  private TrainingEvent first;
  private JobStarted started;
  private Evaluated test;
  private String end = BROKE_OFF;
  private String reason = "";
  private long version;
  private long samples;
  private long lastMillis;
  private final EventFold last =
      new EventFold()
          .on(WorkerProgress.class, this::progressed)
          .on(ServerProgress.class, this::progressed)
          .on(Evaluated.class, tested -> test = tested.samples() > 0 ? tested : test)
          .on(JobFinished.class, this::finished)
          .on(JobFailed.class, failed -> ended("failed", failed.reason()))
          .on(JobStopped.class, stopped -> ended("stopped", stopped.reason()))
          .on(JobStarted.class, started -> ended(BROKE_OFF, ""))
          .on(MemberJoined.class, joined -> ended(BROKE_OFF, ""));

  private RunRow(RunDirectory run, boolean runs) {
    this.run = run;
    this.runs = runs;
  }

  /**
   * Reads a run.
   *
   * @param holder the process that holds the lock of the run, if any
   */
  static JsonObject read(RunDirectory run, Optional<RunLock.Holder> holder) {
    RunRow reader = new RunRow(run, holder.isPresent());
    reader.row.put("name", run.name());
    holder.flatMap(RunLock.Holder::page).ifPresent(page -> reader.row.put("page", page));
    reader.fill();
    return reader.row;
  }

  private void fill() {
    Optional<JsonObject> summary = object(run.summary());
    Optional<JsonObject> job = object(run.job());
    boolean finished =
        summary.map(json -> json.getValue(STATE)).filter(FINISHED::equals).isPresent();
    boolean running = runs && !finished;
    readEvents(running || summary.isEmpty());
    summary.ifPresent(this::addResults);
    row.put("startedMillis", begunMillis());
    if (started != null) {
      row.put(LAST_VERSION, started.lastVersion());
    }
    addProgress();
    job.ifPresent(this::addSettings);
    object(run.sweep()).ifPresent(trial -> row.put(SWEEP, trial));
    addNotes();
    boolean known = summary.isPresent() || job.isPresent() || first != null;
    row.put(STATE, state(summary, running, known));
    if (!running) {
      Stream.of(run.job(), run.events())
          .filter(Files::notExists)
          .forEach(file -> problems.add(file.getFileName() + " is missing"));
    }
    if (!problems.isEmpty()) {
      row.put(
          PROBLEM, String.join("; ", problems) + ". Copy the run's folder again, or remove it.");
    }
  }

  private Optional<JsonObject> object(Path file) {
    if (Files.notExists(file)) {
      return Optional.empty();
    }
    String name = file.getFileName().toString();
    try {
      return Optional.of(JsonText.object(name, FileText.read(file)));
    } catch (IOException e) {
      problems.add(name + " " + FileText.reason(e));
    } catch (SettingsException damaged) {
      problems.add(damaged.getMessage());
    }
    return Optional.empty();
  }

  /** Reads the first events, and the last ones if they say how far the run is. */
  private void readEvents(boolean goesOn) {
    if (Files.notExists(run.events())) {
      return;
    }
    try {
      FileText.require(run.events());
      Iterator<TrainingEvent> events = EventFile.part(run.events(), 0, FIRST_BYTES).iterator();
      while (started == null && events.hasNext()) {
        TrainingEvent event = events.next();
        first = first == null ? event : first;
        started = event instanceof JobStarted start ? start : null;
      }
      if (first == null && !runs) {
        problems.add("events.jsonl holds no event, expected one JSON object a line");
      }
      if (goesOn) {
        lastOf(run).forEach(this::applyLast);
      }
    } catch (IOException e) {
      problems.add("events.jsonl " + FileText.reason(e));
    }
  }

  private static Stream<TrainingEvent> lastOf(RunDirectory run) throws IOException {
    long from = Math.max(0, Files.size(run.events()) - LAST_BYTES);
    return EventFile.part(run.events(), from, LAST_BYTES);
  }

  /**
   * Returns why the last attempt of a run failed.
   *
   * @param run the run, whose events may be absent or damaged
   * @return empty if it did not fail, or its events do not say so
   */
  static Optional<String> failure(RunDirectory run) {
    AtomicReference<String> reason = new AtomicReference<>();
    EventFold attempts =
        new EventFold()
            .on(JobStarted.class, started -> reason.set(null))
            .on(JobFailed.class, failed -> reason.set(failed.reason()));
    try {
      if (Files.isRegularFile(run.events())) {
        lastOf(run).forEach(attempts::apply);
      }
    } catch (IOException unreadable) {
      // Nobody can say why.
    }
    return Optional.ofNullable(reason.get());
  }

  private void applyLast(TrainingEvent event) {
    lastMillis = Math.max(lastMillis, event.timeMillis());
    last.apply(event);
  }

  private void progressed(WorkerProgress worker) {
    workers.put(worker.rank(), worker);
    version = Math.max(version, worker.version());
  }

  private void progressed(ServerProgress server) {
    version = Math.max(version, server.version());
    samples = Math.max(samples, server.samples());
  }

  private void finished(JobFinished done) {
    version = done.version();
    samples = done.samples();
  }

  private void ended(String how, String why) {
    end = how;
    reason = why;
  }

  private String state(Optional<JsonObject> summary, boolean running, boolean known) {
    if (running) {
      return RUNNING;
    }
    if (summary.isPresent()) {
      // Older versions wrote a summary at the end only, without a state.
      String state = summary.get().getValue(STATE) instanceof String own ? own : FINISHED;
      return !state.equals(FINISHED) && pausedBySweep() ? "stopped early" : state;
    }
    putText("reason", known ? reason : "");
    return known ? end : "unreadable";
  }

  /**
   * Returns whether a trial of a sweep is where it was told to go, and not at its end. Some
   * strategies count several versions a step, or several steps a version.
   */
  private boolean pausedBySweep() {
    return row.getValue(SWEEP) instanceof JsonObject trial
        && trial.getValue("steps") instanceof Number steps
        && trial.getValue("most") instanceof Number most
        && steps.longValue() > 0
        && steps.longValue() < most.longValue()
        && row.getLong("version", 0L)
            >= row.getLong(LAST_VERSION, most.longValue()) * steps.longValue() / most.longValue();
  }

  private long begunMillis() {
    TrainingEvent begin = started == null ? first : started;
    return begin == null ? startedMillis(run) : begin.timeMillis();
  }

  /** Returns when a run without events was started, or when its files were written. */
  static long startedMillis(RunDirectory run) {
    long launched = RunLaunch.startedMillis(run);
    return launched > 0
        ? launched
        : Stream.of(run.job(), run.summary(), run.path())
            .mapToLong(file -> FileStamp.of(file).modifiedMillis())
            .filter(time -> time > 0)
            .findFirst()
            .orElse(0);
  }

  private void addResults(JsonObject summary) {
    for (String key : RESULTS) {
      putNumber(key, summary.getValue(key));
    }
    addTested(RunSummary.withStream(summary));
    addWhole(summary.getValue(WHOLE_TEST_SET));
    if (summary.getValue("diverged") instanceof JsonObject) {
      row.put("diverged", true);
    } else if (Baseline.unbeatenIn(summary).isPresent()) {
      row.put(GUESSES, true);
    }
    List<String> outliers = RunSummary.outliers(summary);
    if (!outliers.isEmpty()) {
      row.put(OUTLIERS, new JsonArray(outliers));
    }
    putText("hash", summary.getValue("parametersHash"));
    putText("strategy", summary.getValue("strategy"));
    putNumber("workers", summary.getValue("workers"));
    putNumber("servers", summary.getValue("servers"));
    if (summary.getValue(JobConfig.ENGINE) instanceof JsonObject engine) {
      putText(JobConfig.ENGINE, engine.getValue("name"));
      putText("device", engine.getValue("device"));
    }
  }

  /** Adds what the last events say of a run that has no summary yet. */
  private void addProgress() {
    if (test != null) {
      addTest(test);
    }
    if (version == 0) {
      return;
    }
    if (samples == 0) {
      samples = workers.values().stream().mapToLong(WorkerProgress::samples).sum();
    }
    double seconds = (lastMillis - row.getLong("startedMillis")) / MILLIS;
    row.put("version", version).put("samples", samples).put("seconds", seconds);
    if (seconds > 0) {
      row.put("samplesPerSecond", samples / seconds);
    }
    workers.values().stream()
        .mapToDouble(WorkerProgress::loss)
        .average()
        .ifPresent(loss -> putNumber("trainingLoss", loss));
  }

  private void addTest(Evaluated tested) {
    addTested(
        RunSummary.put(
            new JsonObject(),
            tested.kind(),
            tested.metricValue(),
            tested.accuracy(),
            tested.errors()));
    putNumber("loss", tested.loss());
    row.put(TEST_SAMPLES, tested.samples());
    addWhole(tested.wholeTestSet());
    row.put("hash", tested.parametersHash());
  }

  private void addSettings(JsonObject job) {
    JsonObject settings = new JsonObject();
    for (String section : job.fieldNames()) {
      if (saysWhatIsTrained(section)) {
        flatten(section, job.getValue(section), settings);
      }
    }
    row.put(SETTINGS, settings);
    putText("model", settings.getValue("model.name"));
    putText("data", settings.getValue("data.name"));
    dataHash(job).ifPresent(hash -> row.put("dataHash", hash));
    putIfAbsent("strategy", settings.getValue("strategy.name"));
    putIfAbsent("workers", settings.getValue("workers.count"));
    putIfAbsent("servers", settings.getValue("servers.count"));
    putIfAbsent(JobConfig.ENGINE, settings.getValue(JobConfig.ENGINE));
    putIfAbsent("device", settings.getValue(DEVICE));
  }

  /** Returns the settings of a run by their whole keys; none for a run without a job file. */
  static JsonObject settings(JsonObject row) {
    return row.getJsonObject(SETTINGS, new JsonObject());
  }

  /** Returns whether a setting has a column in any case, such as {@code strategy.name}. */
  static boolean hasColumn(JsonObject row, String key) {
    String name = key.endsWith(NAME_KEY) ? key.substring(0, key.length() - NAME_KEY.length()) : "";
    return row.getValue(name) instanceof String;
  }

  /** A {@code job.json} lacks the settings of one machine anyway. */
  private static boolean saysWhatIsTrained(String section) {
    return !JobKeys.has(section, KeyTrait.OPERATION) && !JobKeys.has(section, KeyTrait.OF_RUN);
  }

  /**
   * Returns the fingerprint of the samples that a run was tested on, or else trained on: only runs
   * on the same samples are compared.
   */
  static Optional<String> dataHash(JsonObject job) {
    return job.getValue(JobConfig.RESOLVED) instanceof JsonObject resolved
        ? fingerprint(resolved, "testData").or(() -> fingerprint(resolved, "trainingData"))
        : Optional.empty();
  }

  private static Optional<String> fingerprint(JsonObject resolved, String what) {
    return resolved.getValue("fingerprints") instanceof JsonObject all
            && all.getValue(what) instanceof JsonObject one
        ? Optional.ofNullable(one.getString("hash"))
        : Optional.empty();
  }

  /** Adds settings by their whole keys; a list is a text, such as {@code [128,64]}. */
  private static void flatten(String key, Object value, JsonObject settings) {
    if (value instanceof JsonObject section) {
      section
          .fieldNames()
          .forEach(name -> flatten(key + "." + name, section.getValue(name), settings));
    } else if (value != null) {
      Object shown = value instanceof JsonArray list ? list.encode() : value;
      settings.put(
          key,
          shown instanceof String text && text.length() > LONGEST_SETTING
              ? text.substring(0, LONGEST_SETTING) + "..."
              : shown);
    }
  }

  private void addNotes() {
    try {
      row.mergeIn(RunNotes.read(run).toJson());
    } catch (SettingsException damaged) {
      problems.add(damaged.getMessage());
    }
  }

  /** Adds the accuracy or the metric of a test, as a summary has it. */
  private void addTested(JsonObject tested) {
    putNumber("accuracy", tested.getValue("accuracy"));
    Metric metric = RunSummary.metricOf(tested);
    if (metric != Metric.ACCURACY && tested.getValue(metric.key()) instanceof Number value) {
      row.put("metric", metric.key());
      putNumber("metricValue", value);
    }
  }

  /** Marks a test that left out samples; older versions did not say whether one did. */
  private void addWhole(Object whole) {
    if (whole instanceof Boolean known) {
      row.put(WHOLE_TEST_SET, known);
    }
  }

  private void putNumber(String key, Object value) {
    if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
      row.put(key, number);
    }
  }

  private void putText(String key, Object value) {
    if (value instanceof String text && !text.isEmpty()) {
      row.put(key, text);
    }
  }

  private void putIfAbsent(String key, Object value) {
    if (!row.containsKey(key)) {
      putNumber(key, value);
      putText(key, value);
    }
  }
}
