package io.vertigrad.launcher.terminal;

import io.vertigrad.compute.Divergence;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Share;
import io.vertigrad.compute.ValueErrors;
import io.vertigrad.compute.data.Baseline;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunSummary;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Optional;
import java.util.function.DoubleFunction;

/** Formats the lines before the first step and after the last. */
public final class ResultText {

  /** Start of the line with the run's folder. */
  static final String SAVED = "saved ";

  /** Start of the line that reports that training has made the model worse. */
  static final String DIVERGED = "DIVERGED: ";

  /** Start of the line that reports that a constant answer is as good as the model. */
  static final String GUESSES = "NO BETTER THAN GUESSING: ";

  private static final String REFUSED =
      "%,d updates were refused, with NaN, infinity or numbers beyond exchange.maxMagnitude";

  private static final int PROBLEMS = 4;

  private ResultText() {}

  /** Returns the first line of a run. */
  public static String opening(JobConfig job, RunDirectory directory) {
    return EventText.format(
        "%s: %s on %s, %s; run: %s",
        job.addresses().job(),
        job.model().name(),
        job.data().name(),
        job.strategy().name(),
        directory.path());
  }

  /**
   * Returns the job's length in steps; empty when the job file already gives it in steps per
   * worker.
   */
  public static Optional<String> length(JobConfig job) {
    if (job.length().unit() == Unit.STEPS) {
      return Optional.empty();
    }
    if (job.length().unit() == Unit.UNBOUNDED) {
      return Optional.of(
          job.dataLength().isPresent()
              ? EventText.format(
                  "%,d events, then the data end: %,d steps per worker",
                  job.dataLength().getAsLong(), job.steps())
              : "no limit of steps: training ends with Ctrl-C, or as stop.* says");
    }
    String who = job.pipeline().isPresent() ? "replica" : "worker";
    String data =
        job.length().countsSamples()
            ? EventText.format(" of %,d training samples", job.trainingSamples().orElse(0))
            : "";
    return Optional.of(
        EventText.format("%s%s: %,d steps per %s", job.length(), data, job.steps(), who));
  }

  /** Returns the result and where it is saved. */
  public static List<String> closing(JobConfig job, RunDirectory directory, JsonObject summary) {
    List<String> lines = new ArrayList<>();
    lines.add(outcome(summary));
    RunSummary.divergence(summary)
        .ifPresentOrElse(
            losses -> lines.add(DIVERGED + divergence(job, summary, losses)),
            () ->
                Baseline.unbeatenIn(summary)
                    .ifPresent(constant -> lines.add(GUESSES + guesses(job, summary, constant))));
    if (summary.getLong("samples") > 0) {
      lines.add(throughput(job, summary));
      RunSummary.computedBy(summary).ifPresent(engine -> lines.add("computed by " + engine));
    }
    if (summary.containsKey("replicas")) {
      lines.addAll(replicas(summary.getJsonObject("replicas")));
    }
    own(summary).ifPresent(lines::add);
    if (summary.getValue(RunSummary.PRIVACY) instanceof JsonObject privacy) {
      lines.add(
          EventText.format(
              "privacy of each worker's updates towards the servers: epsilon %,.2f at delta %.0e",
              privacy.getDouble("epsilon"), privacy.getDouble("delta")));
    }
    JsonObject updates = summary.getJsonObject("updates", new JsonObject());
    if (updates.getLong("refused", 0L) > 0) {
      lines.add(EventText.format(REFUSED, updates.getLong("refused")));
    }
    lines.addAll(warnings(RunSummary.outliers(summary), "workerUpdates"));
    lines.addAll(imbalance(updates));
    lines.add(SAVED + directory.path() + ": " + String.join(", ", files(directory, summary)));
    return lines;
  }

  /** Returns how the model does on the samples of each worker; empty if they share them. */
  private static Optional<String> own(JsonObject summary) {
    if (!(summary.getValue(RunSummary.OWN) instanceof JsonObject own)) {
      return Optional.empty();
    }
    LongSummaryStatistics samples =
        own.getJsonArray("workers").stream()
            .mapToLong(worker -> ((JsonObject) worker).getLong("samples"))
            .summaryStatistics();
    String counts =
        EventText.format(
            "each worker has its own samples, %,d to %,d", samples.getMin(), samples.getMax());
    return Optional.of(
        counts
            + (own.getValue("accuracy") instanceof JsonObject spread
                ? "; accuracy there in the last test of each: "
                    + spread(spread, Metric.ACCURACY::figure)
                : own.getValue("loss") instanceof JsonObject spread
                    ? "; loss there in the last test of each: "
                        + spread(spread, loss -> EventText.format("%.4f", loss))
                    : ""));
  }

  private static String spread(JsonObject spread, DoubleFunction<String> text) {
    return "%s to %s, median %s"
        .formatted(
            text.apply(spread.getDouble("lowest")),
            text.apply(spread.getDouble("highest")),
            text.apply(spread.getDouble("median")));
  }

  /** Returns at most a few warnings about updates that do not balance; empty when all do. */
  private static List<String> imbalance(JsonObject updates) {
    return warnings(
        updates.getJsonArray("problems", new JsonArray()).stream().map(String::valueOf).toList(),
        "updates");
  }

  /** Returns at most a few warnings, and which key of the summary has all. */
  private static List<String> warnings(List<String> problems, String key) {
    List<String> lines = new ArrayList<>();
    problems.stream().limit(PROBLEMS).forEach(problem -> lines.add("WARNING: " + problem));
    if (problems.size() > PROBLEMS) {
      lines.add(
          "WARNING: %s more such problems, see %s in summary.json"
              .formatted(problems.size() - PROBLEMS, key));
    }
    return lines;
  }

  private static String outcome(JsonObject summary) {
    boolean interrupted = "interrupted".equals(summary.getString("state"));
    if (interrupted && summary.getLong("samples") == 0) {
      return "interrupted before the first step: nothing was trained";
    }
    String where =
        interrupted
            ? EventText.format(
                "interrupted at version %,d%s: ", summary.getLong("version"), repeats(summary))
            : "";
    if (summary.containsKey("stream")) {
      return where + stream(summary.getJsonObject("stream"));
    }
    if (!summary.containsKey("testSamples")) {
      return where + "no model could be tested";
    }
    return where
        + EventText.format(
            "%s on %s (%,d samples), loss %.4f",
            figures(summary),
            summary.getBoolean("wholeTestSet") ? "the whole test set" : "a part of the test set",
            summary.getInteger("testSamples"),
            summary.getDouble("loss"));
  }

  /** Returns which steps were undone after a loss, and not all repeated before the interruption. */
  private static String repeats(JsonObject summary) {
    return summary.containsKey(RunSummary.REPEATS_TO)
        ? EventText.format(
            ", resume repeats the steps up to %,d", summary.getLong(RunSummary.REPEATS_TO))
        : "";
  }

  /** Returns the figures of samples that were tested before they were trained on. */
  static String stream(JsonObject stream) {
    return figures(stream, EventText.format("%,d events", stream.getLong("events")))
        + count(stream, "bad", "%,d events left out")
        + count(stream, "lost", "%,d events lost by the source")
        + count(stream, "unlabelled", "%,d events without a label in time")
        + count(stream, "unmatched", "%,d labels without an event");
  }

  private static String count(JsonObject stream, String key, String text) {
    return stream.containsKey(key) ? "; " + EventText.format(text, stream.getLong(key)) : "";
  }

  private static String figures(JsonObject stream, String events) {
    if (stream.containsKey("rmse")) {
      return EventText.format(
          "RMSE %s on %s before training on each, %s on the last ones (no change %s, mean %s)",
          error(stream, "rmse"),
          events,
          error(stream, "windowRmse"),
          error(stream, "noChange"),
          error(stream, "mean"));
    }
    return EventText.format(
        "accuracy %s on %s before training on each, %s on the last ones, kappa %.3f"
            + " (no change %s, majority %s)",
        share(stream, "accuracy"),
        events,
        share(stream, "windowAccuracy"),
        stream.getDouble("kappa", 0.0),
        share(stream, "noChange"),
        share(stream, "majority"));
  }

  private static String error(JsonObject stream, String key) {
    return Metric.RMSE.figure(stream.getDouble(key, Double.NaN));
  }

  private static Share share(JsonObject stream, String key) {
    return Share.of(stream, key).orElse(new Share(0));
  }

  private static String divergence(JobConfig job, JsonObject summary, JsonObject losses) {
    return "%s, and the model is no better than before. %s"
        .formatted(
            Divergence.rise(
                losses.getDouble("initialLoss", Double.NaN),
                losses.getDouble("worstLoss", Double.NaN),
                summary.getDouble("loss", Double.NaN)),
            Divergence.remedy(job.json(), job.workers().count()));
  }

  private static String guesses(JobConfig job, JsonObject summary, Baseline constant) {
    return "%s. %s".formatted(constant.found(summary), Baseline.remedy(job.json()));
  }

  private static String figures(JsonObject summary) {
    String top =
        summary.containsKey("topK")
            ? EventText.format(
                " (top %d %.2f %%)", summary.getInteger("topK"), summary.getDouble("topAccuracy"))
            : "";
    List<ValueErrors> errors =
        summary.getJsonArray("errors", new JsonArray()).stream()
            .map(JsonObject.class::cast)
            .map(
                one ->
                    new ValueErrors(
                        one.getString("name"),
                        one.getDouble("rmse", Double.NaN),
                        one.getDouble("mae", Double.NaN)))
            .toList();
    if (!errors.isEmpty()) {
      return ValueErrors.text(errors);
    }
    Metric metric = RunSummary.metricOf(summary);
    double accuracy =
        summary.getDouble(metric == Metric.LABEL_ACCURACY ? metric.key() : "accuracy", Double.NaN);
    return metric.text(summary.getDouble("loss"), accuracy, top);
  }

  private static List<String> files(RunDirectory directory, JsonObject summary) {
    List<String> files = new ArrayList<>();
    directory.model().ifPresent(model -> files.add(model.getFileName().toString()));
    if (summary.containsKey("checkpoints")) {
      files.add("checkpoints");
    }
    files.addAll(List.of("summary.json", "events.jsonl", "job.json", "run.log"));
    return files;
  }

  private static String throughput(JobConfig job, JsonObject summary) {
    double computing = summary.getDouble("secondsComputing");
    double exchanging = summary.getDouble("secondsExchanging");
    double waiting = summary.getDouble("secondsWaitingForData");
    double all = Math.max(1e-9, computing + exchanging + waiting);
    return EventText.format(
        "%,d samples in %.1f s: %,.0f samples/s (%s: %.0f %% computing, %.0f %%"
            + " exchanging, %.0f %% waiting for %s)",
        summary.getLong("samples"),
        summary.getDouble("seconds"),
        summary.getDouble("samplesPerSecond"),
        job.pipeline().isPresent() ? "stages" : "workers",
        100 * computing / all,
        100 * exchanging / all,
        100 * waiting / all,
        job.pipeline().isPresent() ? "each other" : "data");
  }

  /**
   * Returns the line about workers without servers. It leaves out how far they diverged when they
   * agree after every step; empty when nothing else is left.
   */
  private static List<String> replicas(JsonObject replicas) {
    double distance = replicas.getDouble("consensusDistance");
    double gap = replicas.getDouble("spectralGap");
    String hidden =
        EventText.format(
            "%.0f %% of the exchange hidden behind gradients",
            100 * replicas.getDouble("hiddenShare"));
    if (distance > 0 || gap < 1) {
      return List.of(
          EventText.format(
                  "averaged over the workers: consensus distance %.3g, spectral gap %.3f, ",
                  distance, gap)
              + hidden);
    }
    return hidden.startsWith("0 ") ? List.of() : List.of(hidden);
  }
}
