package io.vertigrad.launcher.run;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.Optional;

/** What came out of a run, as {@code summary.json}. */
public final class RunSummary {

  /** How many times the loss before the first step a loss is that no training should end with. */
  private static final double DIVERGED = 1.5;

  private RunSummary() {}

  /**
   * Collects the summary.
   *
   * @param job what was asked for
   * @param progress every event of the run, folded
   * @param state {@code finished} or {@code interrupted}
   * @param tested the final parameters on the whole test set; of an interrupted run on a part of
   *     it, or empty
   * @param versions of everything that took part
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
    putKnown(summary, "trainingLoss", progress.trainingLoss());
    putKnown(summary, "trainingAccuracy", progress.trainingAccuracy());
    putKnown(summary, "initialLoss", progress.initialLoss());
    tested
        .filter(found -> diverged(found.loss(), progress.trainingLoss(), progress.initialLoss()))
        .ifPresent(found -> summary.put("diverged", true));
    if (progress.replicas().present()) {
      summary.put("replicas", progress.replicas().toJson());
    }
    if (job.run().resumes() > 0) {
      summary.put("resumes", job.run().resumes()).put("resumedAtVersion", progress.resumedAt());
    }
    progress.ending().ifPresent(ending -> summary.put("stopped", stopped(ending)));
    if (job.length().unit() == Unit.EPOCHS) {
      summary.put("epochs", job.length().amount());
    }
    tested.ifPresent(found -> put(summary, found));
    return summary
        .put("state", state)
        .put("job", job.addresses().job())
        .put("strategy", job.strategy().name())
        .put("workers", job.workers().count())
        .put("servers", progress.started().map(JobStarted::servers).orElse(0))
        .put("steps", job.steps())
        .put("seed", job.seed())
        .put("version", tested.map(Evaluated::version).orElseGet(progress::version))
        .put("samples", progress.samples())
        .put("seconds", progress.seconds())
        .put("samplesPerSecond", progress.samplesPerSecond())
        .put("secondsComputing", progress.ofWorkers(WorkerProgress::secondsComputing))
        .put("secondsExchanging", progress.ofWorkers(WorkerProgress::secondsExchanging))
        .put("secondsWaitingForData", progress.ofWorkers(WorkerProgress::secondsWaitingForData))
        .put("staleness", staleness)
        .put("meanStaleness", progress.meanStaleness())
        .put("updates", progress.updates().toJson())
        .put("bytesSent", (long) progress.ofWorkers(WorkerProgress::bytesSent))
        .put("bytesSaved", (long) progress.ofWorkers(WorkerProgress::bytesSaved))
        .put("encoding", job.exchange().encoding())
        .put("bytesReceived", (long) progress.ofWorkers(WorkerProgress::bytesReceived))
        .put("gitRevision", Versions.gitRevision())
        .put("versions", versionsJson);
  }

  /** Tells whether a run has ended with worse parameters than it began with. */
  public static boolean isDiverged(JsonObject summary) {
    return summary.getBoolean("diverged", false);
  }

  /**
   * A test loss that is no number, or either loss far above that of the initial parameters while
   * the other is no better than it: a model that only knows its training set by heart has a low
   * training loss.
   */
  static boolean diverged(double tested, double training, double initial) {
    double most = DIVERGED * initial;
    boolean worse =
        tested > most && !(training < initial) || training > most && tested > 0.9 * initial;
    return !Double.isFinite(tested) || worse;
  }

  private static void put(JsonObject summary, Evaluated tested) {
    put(summary, tested.kind(), tested.loss(), tested.accuracy())
        .put("loss", tested.loss())
        .put("testSamples", tested.samples())
        .put("wholeTestSet", tested.wholeTestSet())
        .put("parametersHash", tested.parametersHash());
    if (tested.topK() > 0) {
      summary.put("topK", tested.topK()).put("topAccuracy", tested.topAccuracy());
    }
  }

  /**
   * Puts the accuracy there, or what a test has in its place or beside it.
   *
   * @return the summary
   */
  public static JsonObject put(JsonObject summary, Metric metric, double loss, double accuracy) {
    if (metric == Metric.ACCURACY || metric == Metric.PERPLEXITY) {
      summary.put("accuracy", accuracy);
    }
    if (metric != Metric.ACCURACY) {
      putKnown(summary, metric.key(), metric.value(loss, accuracy));
    }
    return summary;
  }

  /** Which of them a summary has. */
  public static Metric metricOf(JsonObject summary) {
    for (Metric metric : Metric.values()) {
      if (metric != Metric.ACCURACY && summary.containsKey(metric.key())) {
        return metric;
      }
    }
    // What is not finite was left out, and only tests with an RMSE may have nothing else.
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
