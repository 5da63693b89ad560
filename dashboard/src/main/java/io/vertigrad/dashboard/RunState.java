package io.vertigrad.dashboard;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFailed;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.JobStopped;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.observability.EventFold;
import io.vertigrad.run.RunView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * The object {@code state} in the messages of {@link RunMetrics}: what a {@link RunView} knows of
 * the whole job, under the keys that the page reads.
 */
final class RunState {

  /** The phase of a job whose command was interrupted, and the state in its summary. */
  private static final String INTERRUPTED = "interrupted";

  private static final String PREDICTORS = "predictors";
  private static final int MOST_PREDICTORS = 64;
  private static final String PAUSED_SINCE = "pausedSinceMillis";
  private static final List<String> SUMMARIZED =
      List.of(
          "seconds",
          "samples",
          "samplesPerSecond",
          "accuracy",
          "topK",
          "topAccuracy",
          "testSamples",
          "version",
          "stream",
          "diverged",
          "baseline",
          "updates");

  private final RunView view;
  private final JsonObject values = new JsonObject().put("phase", "waiting");
  private final EventFold fold =
      new EventFold()
          .on(WorkerProgress.class, this::progressed)
          .on(ServerProgress.class, this::progressed)
          .on(Evaluated.class, this::tested)
          .on(PredictorProgress.class, this::predictor)
          .on(StreamTested.class, test -> streamed())
          .on(ReplicasAveraged.class, this::averaged)
          .on(JobStarted.class, this::started)
          .on(JobPaused.class, this::paused)
          .on(JobResumed.class, this::resumed)
          .on(JobFinished.class, this::finished)
          .on(JobStopped.class, this::stopped)
          .on(JobFailed.class, this::failed);

  private boolean summarized;

  RunState(RunView view) {
    this.view = view;
  }

  /** Processes the next event, which the view includes already. */
  void apply(TrainingEvent event) {
    fold.apply(event);
  }

  private void progressed(WorkerProgress worker) {
    if (!values.containsKey("firstMillis")) {
      values.put("firstMillis", worker.timeMillis()).put("firstVersion", worker.version());
    }
    most("version", view.version());
    values.put("epoch", view.epoch());
  }

  private void progressed(ServerProgress server) {
    most("version", server.version());
    most("samples", server.samples());
  }

  private void tested(Evaluated tested) {
    values.put("testLoss", number(tested.loss())).put("accuracy", number(tested.accuracy()));
    if (tested.kind() != Metric.ACCURACY) {
      values.put("metric", tested.metric()).put("metricValue", number(tested.metricValue()));
    }
    if (tested.topK() > 0) {
      values.put("topK", tested.topK()).put("topAccuracy", number(tested.topAccuracy()));
    }
    values.put("testedVersion", tested.version()).put("testSamples", tested.samples());
  }

  private void streamed() {
    values.put("stream", view.stream().orElseThrow().toJson());
  }

  private void averaged(ReplicasAveraged averaged) {
    values.put("consensusDistance", number(averaged.consensusDistance()));
    values.put("localAccuracy", number(averaged.localAccuracy()));
  }

  /** Sets the values of one predictor, and how many samples it answered since its last report. */
  private void predictor(PredictorProgress progress) {
    JsonObject all = values.getJsonObject(PREDICTORS, new JsonObject()).copy();
    JsonObject before = all.getJsonObject(progress.predictor());
    if (before == null && all.size() >= MOST_PREDICTORS) {
      return;
    }
    JsonObject now = progress.toJson();
    List.of("type", "predictor").forEach(now::remove);
    if (before != null) {
      double seconds = (progress.timeMillis() - before.getLong("timeMillis")) / 1e3;
      now.put(
          "predictionsPerSecond",
          seconds > 0 ? (progress.predictions() - before.getLong("predictions")) / seconds : 0.0);
    }
    values.put(PREDICTORS, all.put(progress.predictor(), now));
  }

  private void started(JobStarted started) {
    running(started.timeMillis());
    values.mergeIn(started.toJson());
    values.remove("type");
    // The names of the classes are sent once, outside the state: there may be a thousand.
    values.remove("classes");
    values.remove("timeMillis");
  }

  private void paused(JobPaused paused) {
    values.put("phase", "paused").put(PAUSED_SINCE, paused.timeMillis());
  }

  private void resumed(JobResumed resumed) {
    running(resumed.timeMillis());
    values.put("resumedMillis", resumed.timeMillis());
  }

  private void finished(JobFinished finished) {
    phase("finished", "endedMillis", finished.timeMillis());
    most("version", view.version());
  }

  private void stopped(JobStopped stopped) {
    String phase = stopped.interrupted() ? INTERRUPTED : "stopped";
    phase(phase, "endedMillis", stopped.timeMillis());
    values.put("reason", stopped.reason());
  }

  private void failed(JobFailed failed) {
    phase("failed", "endedMillis", failed.timeMillis());
    values.put("reason", failed.reason());
  }

  /**
   * Sets the workers' values as a whole.
   *
   * @param loss mean of their training losses; NaN when there is none
   * @param accuracy mean of their training accuracies, in percent; NaN when there is none
   */
  void workers(double samplesPerSecond, double loss, double accuracy) {
    if (summarized) {
      return;
    }
    most("samples", view.samples());
    values.put("samplesPerSecond", samplesPerSecond);
    if (Double.isFinite(loss)) {
      values.put("loss", loss);
    }
    if (Double.isFinite(accuracy)) {
      values.put("trainingAccuracy", accuracy);
    }
  }

  /**
   * Sets the final values of a run that is over, so that the page shows the same values as the
   * terminal.
   *
   * @param summary the values of {@code summary.json}
   */
  void summarize(JsonObject summary) {
    summarized = true;
    for (String key : SUMMARIZED) {
      if (summary.containsKey(key)) {
        values.put(key, summary.getValue(key));
      }
    }
    for (Metric metric : Metric.values()) {
      if (summary.containsKey(metric.key())) {
        values.put("metric", metric.key()).put("metricValue", summary.getValue(metric.key()));
      }
    }
    if (summary.containsKey("loss")) {
      values.put("testLoss", summary.getValue("loss"));
      values.put("testedVersion", summary.getValue("version"));
    }
    if (INTERRUPTED.equals(summary.getString("state"))) {
      values.put("phase", INTERRUPTED);
    }
  }

  /** Sets what {@link RunAdvice} says. */
  void advice(JsonArray advice) {
    if (advice.isEmpty()) {
      values.remove("advice");
    } else {
      values.put("advice", advice);
    }
  }

  /** Sets the throughput to 0, because no worker computes. */
  void rest() {
    values.put("samplesPerSecond", 0.0);
  }

  JsonObject toJson() {
    return values.copy();
  }

  /** A run that goes on after an interruption ends later: the time axis is as long as all of it. */
  private void running(long timeMillis) {
    values.remove("endedMillis");
    values.remove("reason");
    phase("running", "startedMillis", timeMillis);
  }

  private void phase(String name, String when, long timeMillis) {
    if (values.containsKey(PAUSED_SINCE)) {
      long paused = timeMillis - (long) values.remove(PAUSED_SINCE);
      values.put("pausedMillis", values.getLong("pausedMillis", 0L) + paused);
    }
    values.put("phase", name);
    if (!values.containsKey(when)) {
      values.put(when, timeMillis);
    }
  }

  private void most(String key, long value) {
    values.put(key, Math.max(values.getLong(key, 0L), value));
  }

  private static Double number(double value) {
    return Double.isFinite(value) ? value : null;
  }
}
