package io.vertigrad.launcher.comparison;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.dashboard.RunCurves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.NamedConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunSummary;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;

/** A run that finished or was interrupted, read from its folder. */
final class FinishedRun {

  private final Path folder;
  private final JsonObject summary;
  private final JsonObject job;
  private final RunCurves curves;
  private final NavigableMap<Double, Double> accuracies = new TreeMap<>();

  private FinishedRun(Path folder, JsonObject summary, JsonObject job, RunCurves curves) {
    this.folder = folder;
    this.summary = summary;
    this.job = job;
    this.curves = curves;
    curves
        .figures()
        .forEach((version, figure) -> accuracies.put(version * samplesPerVersion(), figure));
  }

  /**
   * Reads {@code summary.json} and the run's curves.
   *
   * @throws InputException naming the folder and what is missing there
   */
  static FinishedRun read(Path folder) {
    RunDirectory directory = new RunDirectory(folder);
    require(Files.isDirectory(folder), folder, "there is no such folder");
    require(
        Files.isReadable(directory.summary()),
        folder,
        "summary.json is missing: the run is not over, or failed or was stopped");
    require(Files.isReadable(directory.events()), folder, "events.jsonl is missing");
    try {
      JsonObject job =
          Files.isReadable(directory.job())
              ? new JsonObject(JsonText.read(directory.job()))
              : new JsonObject();
      return new FinishedRun(
          folder,
          RunSummary.withStream(new JsonObject(JsonText.read(directory.summary()))),
          job,
          RunCurves.read(directory.curves(), directory.events(), Long.MAX_VALUE, () -> false));
    } catch (IOException | DecodeException e) {
      throw new InputException(
          "%s: summary.json, job.json or events.jsonl cannot be read: %s; copy the run's folder again"
              .formatted(folder, e.getMessage()),
          e);
    }
  }

  /** Returns the name of the run's folder. */
  String name() {
    return folder.toAbsolutePath().normalize().getFileName().toString();
  }

  /** Returns what a list of runs shows of it. */
  JsonObject row() {
    return RunRow.read(new RunDirectory(folder), Optional.empty());
  }

  /** Returns the summary as {@link RunSummary} wrote it. */
  JsonObject summary() {
    return summary;
  }

  /** Returns the fingerprint of the data that the run was tested on; empty if it is not known. */
  Optional<String> dataHash() {
    return RunRow.dataHash(job);
  }

  /**
   * Returns {@code finished} or {@code interrupted}; older versions wrote a summary only at the
   * end.
   */
  String state() {
    return summary.getString("state", "finished");
  }

  /**
   * Returns a key of the run's job file, such as {@code model.name}; empty when the file or the key
   * is missing.
   */
  Optional<Object> setting(String key) {
    Object value = job;
    for (String name : key.split("\\.")) {
      value = value instanceof JsonObject parent ? parent.getValue(name) : null;
    }
    return Optional.ofNullable(value);
  }

  /**
   * Returns what the run's version counts: {@code rounds} of all workers, or {@code updates} of one
   * worker each; empty when the strategy is unknown.
   */
  Optional<String> counted() {
    return counted(new RunDirectory(folder));
  }

  /** Returns what the version of the run of this folder counts, as {@link #counted()}. */
  static Optional<String> counted(RunDirectory run) {
    if (!Files.isRegularFile(run.job(), LinkOption.NOFOLLOW_LINKS)) {
      return Optional.empty();
    }
    try {
      NamedConfig strategy = JobConfig.read(run.job().toString(), run.readJob()).strategy();
      boolean rounds =
          StrategyProviders.configure(strategy, FinishedRun.class.getClassLoader())
              .traits()
              .lockstep();
      return Optional.of(rounds ? "rounds" : "updates");
    } catch (RuntimeException unreadable) {
      // An older version wrote the job file, or its strategy is not on the class path.
      return Optional.empty();
    }
  }

  /** Returns the mean number of training samples per update. */
  double samplesPerVersion() {
    return summary.getDouble("samples", 0.0) / Math.max(1, summary.getLong("version", 0L));
  }

  /**
   * Returns the number of training samples before the first evaluation; infinity when there is
   * none.
   */
  double firstTested() {
    return accuracies.isEmpty() ? Double.POSITIVE_INFINITY : accuracies.firstKey();
  }

  /** Returns the number of training samples before the last evaluation; 0 when there is none. */
  double lastTested() {
    return accuracies.isEmpty() ? 0 : accuracies.lastKey();
  }

  /** Returns the metric that the run's tests report besides the loss. */
  Metric metric() {
    return accuracies.isEmpty() ? RunSummary.metricOf(summary) : curves.metric();
  }

  /** Returns the names of the scalars that the run has reported, in the order of the alphabet. */
  Set<String> scalars() {
    return curves.lastScalars().keySet();
  }

  /**
   * Returns the last value of a scalar: the mean over its sources, NaN if one of them ended with a
   * value that is not finite.
   */
  OptionalDouble scalar(String name) {
    Double last = curves.lastScalars().get(name);
    return last == null ? OptionalDouble.empty() : OptionalDouble.of(last);
  }

  /**
   * Returns the accuracy in percent, or the metric's value, after this number of training samples,
   * interpolated between the two nearest evaluations.
   */
  OptionalDouble accuracyAt(double samples) {
    Map.Entry<Double, Double> before = accuracies.floorEntry(samples);
    Map.Entry<Double, Double> after = accuracies.ceilingEntry(samples);
    if (before == null || after == null) {
      return OptionalDouble.empty();
    }
    if (before.getKey().equals(after.getKey())) {
      return OptionalDouble.of(before.getValue());
    }
    double share = (samples - before.getKey()) / (after.getKey() - before.getKey());
    return OptionalDouble.of(before.getValue() + share * (after.getValue() - before.getValue()));
  }

  private static void require(boolean holds, Path folder, String otherwise) {
    if (!holds) {
      throw new InputException(
          "%s: %s; expected the folder of a finished run, as train makes them below runs/"
              .formatted(folder, otherwise));
    }
  }
}
