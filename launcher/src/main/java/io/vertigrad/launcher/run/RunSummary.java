package io.vertigrad.launcher.run;

import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Share;
import io.vertigrad.compute.ValueErrors;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertigrad.observability.UpdateOutliers;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Builds the result of a run, {@code summary.json}. */
public final class RunSummary {

  /** Key of the version up to which an interrupted run repeats steps when it is resumed. */
  public static final String REPEATS_TO = "repeatsTo";

  /** Key of what workers have that do not share their samples. */
  public static final String OWN = "own";

  /** Key of the privacy that the updates of a worker have lost. */
  public static final String PRIVACY = "privacy";

  private static final String DIVERGED = "diverged";

  /** The delta for which strategies report epsilon. */
  private static final double DELTA = 1e-5;

  private RunSummary() {}

  /**
   * Builds the summary.
   *
   * @param job the job that was asked for
   * @param progress the run's progress from every event
   * @param state {@code finished} or {@code interrupted}
   * @param tested the final parameters on the whole test set; for an interrupted run on a part of
   *     it, or empty
   * @param versions the versions of all software that took part
   */
  public static JsonObject of(
      JobConfig job,
      RunProgress progress,
      String state,
      Optional<Evaluated> tested,
      Map<String, String> versions) {
    JsonObject staleness = new JsonObject();
    progress.staleness().forEach((age, count) -> staleness.put(String.valueOf(age), count));
    JsonObject versionsJson = new JsonObject();
    versions.forEach(versionsJson::put);
    JsonObject summary = new JsonObject();
    putKnown(summary, "trainingLoss", progress.view().trainingLoss());
    putKnown(summary, "trainingAccuracy", progress.view().trainingAccuracy());
    tested
        .filter(found -> found.samples() > 0)
        .filter(
            found ->
                Divergence.isShownBy(
                    progress.initialLoss(),
                    progress.worstLoss(),
                    progress.view().trainingLoss(),
                    found.loss(),
                    0))
        .ifPresent(found -> summary.put(DIVERGED, losses(progress)));
    if (progress.replicas().present()) {
      summary.put("replicas", progress.replicas().toJson());
    }
    if (progress.own().present()) {
      summary.put(OWN, progress.own().toJson());
    }
    if (Double.isFinite(progress.epsilon())) {
      summary.put(
          PRIVACY, JsonObject.of("unit", "worker", "epsilon", progress.epsilon(), "delta", DELTA));
    }
    if (job.run().resumes() > 0) {
      summary.put("resumes", job.run().resumes()).put("resumedAtVersion", progress.resumedAt());
    }
    progress.view().ending().ifPresent(ending -> summary.put("stopped", stopped(ending)));
    progress
        .view()
        .divided()
        .ifPresent(division -> summary.put("shares", new JsonArray(division.shares())));
    if (job.length().unit() == Unit.EPOCHS) {
      summary.put("epochs", job.length().amount());
    }
    long version = tested.map(Evaluated::version).orElseGet(progress::version);
    if (progress.undoneVersion() > version) {
      summary.put(REPEATS_TO, progress.undoneVersion());
    }
    tested.ifPresent(found -> put(summary, found));
    progress.view().stream().ifPresent(tests -> put(summary, tests));
    JsonArray updates = progress.outliers().toJson();
    if (!updates.isEmpty()) {
      summary.put(UpdateOutliers.KEY, updates);
    }
    if (!job.classNames().isEmpty()) {
      summary.put("classes", new JsonArray(job.classNames()));
    }
    return summary
        .put("state", state)
        .put("job", job.addresses().job())
        .put("strategy", job.strategy().name())
        .put("workers", job.workers().count())
        .put("servers", progress.view().started().map(JobStarted::servers).orElse(0))
        .put("steps", job.endless() ? progress.step() : job.steps())
        .put("seed", job.seed())
        .put("version", version)
        .put("samples", progress.samples())
        .put("seconds", progress.seconds())
        .put("samplesPerSecond", progress.samplesPerSecond())
        .put("secondsComputing", progress.ofWorkers(WorkerProgress::secondsComputing))
        .put("secondsExchanging", progress.ofWorkers(WorkerProgress::secondsExchanging))
        .put("secondsWaitingForData", progress.ofWorkers(WorkerProgress::secondsWaitingForData))
        .put("staleness", staleness)
        .put("meanStaleness", progress.meanStaleness())
        .put("updates", progress.view().updates().toJson())
        .put("bytesSent", (long) progress.ofWorkers(WorkerProgress::bytesSent))
        .put("bytesSaved", (long) progress.ofWorkers(WorkerProgress::bytesSaved))
        .put("encoding", job.exchange().encoding())
        .put("bytesReceived", (long) progress.ofWorkers(WorkerProgress::bytesReceived))
        .put(JobConfig.ENGINE, engine(job))
        .put("gitRevision", Versions.gitRevision())
        .put("versions", versionsJson);
  }

  /** Adds the tests of a stream, each before training, and whether they are better than a guess. */
  private static void put(JsonObject summary, StreamTests tests) {
    summary.put("stream", tests.toJson());
    if (tests.events() > 0) {
      summary.put(Baseline.KEY, tests.baseline().toJson(tests.asTest(tests.figure())));
    }
  }

  /** Adds what a constant answer scores on the test set, and whether the model is better. */
  public static void compare(JsonObject summary, Evaluated tested, Baseline baseline) {
    // The stages of an engine that does not give its outputs test in standard deviations.
    boolean inUnit = tested.kind() != Metric.RMSE || !tested.errors().isEmpty();
    if (tested.samples() > 0 && tested.kind() == baseline.metric() && inUnit) {
      double figure = tested.kind() == Metric.ACCURACY ? tested.accuracy() : tested.metricValue();
      summary.put(Baseline.KEY, baseline.toJson(figure));
    }
  }

  /** Returns the name of the engine, the device, and what the engine says of its platform. */
  public static JsonObject engine(JobConfig job) {
    JsonObject engine =
        new JsonObject().put("name", job.engine()).put("device", job.workers().device().toString());
    new TreeMap<>(Engine.named(job.engine()).platform(job.workers().device())).forEach(engine::put);
    return engine;
  }

  /** Returns one line with what computed a run; empty for a summary that does not say it. */
  public static Optional<String> computedBy(JsonObject summary) {
    return Optional.ofNullable(summary.getJsonObject(JobConfig.ENGINE))
        .map(
            engine ->
                engine.stream()
                    .filter(fact -> !fact.getKey().equals("name"))
                    .map(
                        fact ->
                            fact.getKey().equals("device")
                                ? "on " + fact.getValue()
                                : fact.getKey() + " " + fact.getValue())
                    .collect(Collectors.joining(", ", engine.getString("name") + " ", "")));
  }

  /**
   * Returns how a run diverged: the loss before the first step as {@code initialLoss} and the
   * highest one as {@code worstLoss}, without values that are not finite. Empty when it did not
   * diverge.
   */
  public static Optional<JsonObject> divergence(JsonObject summary) {
    return Optional.ofNullable(summary.getJsonObject(DIVERGED));
  }

  /** Returns a sentence for each worker whose updates do not fit those of the others, by rank. */
  public static List<String> outliers(JsonObject summary) {
    List<String> sentences = new ArrayList<>();
    if (summary.getValue(UpdateOutliers.KEY) instanceof JsonArray updates) {
      for (Object update : updates) {
        if (update instanceof JsonObject one && one.getValue("sentence") instanceof String found) {
          sentences.add(found);
        }
      }
    }
    return sentences;
  }

  private static JsonObject losses(RunProgress progress) {
    JsonObject losses = new JsonObject();
    putKnown(losses, "initialLoss", progress.initialLoss());
    putKnown(losses, "worstLoss", progress.worstLoss());
    return losses;
  }

  private static void put(JsonObject summary, Evaluated tested) {
    summary.put("parametersHash", tested.parametersHash());
    if (tested.samples() == 0) {
      return;
    }
    put(summary, tested.kind(), tested.metricValue(), tested.accuracy(), tested.errors())
        .put("loss", tested.loss())
        .put("testSamples", tested.samples())
        .put("wholeTestSet", tested.wholeTestSet());
    if (tested.topK() > 0) {
      summary.put("topK", tested.topK()).put("topAccuracy", tested.topAccuracy());
    }
  }

  /**
   * Puts the accuracy into the summary, or the metric that a test has instead of it or besides it,
   * and the errors of each value.
   *
   * @return the summary
   */
  public static JsonObject put(
      JsonObject summary,
      Metric metric,
      double metricValue,
      double accuracy,
      List<ValueErrors> errors) {
    if (metric == Metric.ACCURACY || metric == Metric.PERPLEXITY) {
      summary.put("accuracy", accuracy);
    }
    if (metric != Metric.ACCURACY) {
      putKnown(summary, metric.key(), metricValue);
    }
    if (!errors.isEmpty()) {
      JsonArray all = new JsonArray();
      for (ValueErrors each : errors) {
        JsonObject one = new JsonObject().put("name", each.name());
        putKnown(one, "rmse", each.rmse());
        putKnown(one, "mae", each.mae());
        all.add(one);
      }
      summary.put("errors", all);
    }
    return summary;
  }

  /** Returns the summary, for a stream with its accuracy in percent or its RMSE as of a test. */
  public static JsonObject withStream(JsonObject summary) {
    if (summary.containsKey("testSamples")
        || !(summary.getValue("stream") instanceof JsonObject stream)) {
      return summary;
    }
    JsonObject tested = summary.copy();
    Share.of(stream, "accuracy").ifPresent(share -> tested.put("accuracy", share.percent()));
    return stream.getValue("rmse") instanceof Number error ? tested.put("rmse", error) : tested;
  }

  /** Returns the metric that a summary has. */
  public static Metric metricOf(JsonObject summary) {
    for (Metric metric : Metric.values()) {
      if (metric != Metric.ACCURACY && summary.containsKey(metric.key())) {
        return metric;
      }
    }
    // Values that are not finite were left out, and only a test with an RMSE may have no other
    // value.
    return summary.containsKey("testSamples") && !summary.containsKey("accuracy")
        ? Metric.RMSE
        : Metric.ACCURACY;
  }

  private static JsonObject stopped(JobEnding ending) {
    return new JsonObject()
        .put("reason", ending.reason())
        .put("threshold", ending.threshold())
        .put("value", ending.value())
        .put("version", ending.version());
  }

  private static void putKnown(JsonObject summary, String key, double value) {
    if (Double.isFinite(value)) {
      summary.put(key, value);
    }
  }
}
