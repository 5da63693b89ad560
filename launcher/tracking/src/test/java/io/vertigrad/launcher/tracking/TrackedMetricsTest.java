package io.vertigrad.launcher.tracking;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.JobConfig;
import io.vertigrad.run.RunView;
import io.vertigrad.testkit.TestProgress;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class TrackedMetricsTest {

  @Test
  void shouldMakeOnePointASecondWhenWorkersReportMoreOften() {
    Recording metrics = new Recording(job("{\"optimizer\": {\"learningRate\": 0.5}}"));
    List<Metric> early = new ArrayList<>();

    early.addAll(metrics.record(progress(0, 0, 2, 100, 4)));
    early.addAll(metrics.record(progress(100, 1, 2, 100, 2)));
    early.addAll(metrics.record(progress(500, 0, 3, 600, 2)));
    early.addAll(metrics.record(progress(900, 1, 4, 500, 0)));
    List<Metric> points = metrics.record(progress(1_000, 0, 5, 1_100, 1));

    assertEquals(List.of(), early);
    // The rates are 500 samples in 0.5 s and 400 samples in 0.8 s.
    assertEquals(
        new TreeMap<>(
            Map.of(
                "workers/0/loss", 3.0,
                "workers/1/loss", 1.0,
                "train/loss", 2.0,
                "train/samples_per_second", 1_500.0,
                "train/learning_rate", 0.5)),
        values(points));
    assertEquals(4, points.get(0).step());
    assertEquals(900, points.get(0).timeMillis());
    assertEquals(1.0, values(metrics.rest()).get("train/loss"));
    assertEquals(List.of(), metrics.rest());
  }

  @Test
  void shouldFollowTheScheduleWhenTheSamplesWereCounted() {
    String optimizer =
        "\"optimizer\": {\"learningRate\": 0.5, \"schedule\": {\"name\": \"step\","
            + " \"milestones\": [2], \"gamma\": 0.1}}";
    Recording counted =
        new Recording(job("{" + optimizer + ", \"resolved\": {\"trainingSamples\": 1000}}"));
    Recording uncounted = new Recording(job("{" + optimizer + "}"));

    counted.record(progress(0, 0, 1, 1_999, 1));
    double before = values(counted.rest()).get("train/learning_rate");
    counted.record(progress(1_000, 0, 2, 2_001, 1));
    double after = values(counted.rest()).get("train/learning_rate");
    uncounted.record(progress(0, 0, 1, 1_999, 1));

    assertEquals(0.5, before, 1e-12);
    assertEquals(0.05, after, 1e-12);
    assertEquals(null, values(uncounted.rest()).get("train/learning_rate"));
  }

  @Test
  void shouldContinueTheScheduleWhenTheRunIsResumed() {
    String resumed =
        "{\"optimizer\": {\"learningRate\": 0.5, \"schedule\": {\"name\": \"step\","
            + " \"milestones\": [2], \"gamma\": 0.1}}, \"workers\": {\"count\": 1, \"batch\": 10},"
            + " \"run\": {\"resumes\": 1}, \"resolved\": {\"trainingSamples\": 1000}}";
    Recording metrics = new Recording(job(resumed));

    metrics.record(TestProgress.of(0, 0, 10_000, 198, 30, 1));
    double before = values(metrics.rest()).get("train/learning_rate");
    metrics.record(TestProgress.of(1_000, 0, 10_000, 202, 70, 1));
    double after = values(metrics.rest()).get("train/learning_rate");

    assertEquals(0.5, before, 1e-12);
    assertEquals(0.05, after, 1e-12);
  }

  @Test
  void shouldForwardTestsAtOnceAndSkipNonFiniteValues() {
    Recording metrics = new Recording(job("{}"));

    List<Metric> test =
        metrics.record(
            new Evaluated(7, 20, 100, Double.NaN, 55, 5, 90, false, "h", "", 0, List.of()));
    List<Metric> averaged = metrics.record(new ReplicasAveraged(8, 21, 2, 0.25, 50));

    assertEquals(
        List.of(new Metric("test/accuracy", 20, 7, 55), new Metric("test/top_accuracy", 20, 7, 90)),
        test);
    assertEquals(List.of(new Metric("workers/consensus_distance", 21, 8, 0.25)), averaged);
  }

  @Test
  void shouldShowTheAccuracyOfAStreamInPercentOnceASecond() {
    Recording metrics = new Recording(job("{}"));

    List<Metric> first = metrics.record(streamed(1_000, 100, 91));
    List<Metric> early = metrics.record(streamed(1_500, 150, 138));
    List<Metric> rest = metrics.rest();

    assertEquals(Map.of("stream/accuracy", 91.0, "stream/window_accuracy", 80.0), values(first));
    assertEquals(List.of(), early);
    assertEquals(Map.of("stream/accuracy", 92.0, "stream/window_accuracy", 80.0), values(rest));
    assertEquals(List.of(), metrics.rest());
  }

  private static StreamTested streamed(long timeMillis, long events, double right) {
    return new StreamTested(
        timeMillis,
        0,
        0,
        new StreamTests(
            false,
            events,
            right,
            50,
            40,
            10,
            20,
            Map.of(0, events),
            Map.of(0, events),
            0,
            0,
            0,
            0));
  }

  @Test
  void shouldMakeOnePointASecondOfTheNewestValueOfEachScalar() {
    Recording metrics = new Recording(job("{}"));

    List<Metric> early = new ArrayList<>(metrics.record(scalar(0, "worker 0", 1, 0.5)));
    early.addAll(metrics.record(scalar(500, "worker 0", 2, 0.25)));
    early.addAll(metrics.record(scalar(600, "worker 1", 2, Double.NaN)));
    List<Metric> points = metrics.record(scalar(1_000, "worker 0", 3, 0.125));

    assertEquals(List.of(), early);
    assertEquals(List.of(new Metric("scalars/margin/worker_0", 2, 500, 0.25)), points);
    assertEquals(List.of(new Metric("scalars/margin/worker_0", 3, 1_000, 0.125)), metrics.rest());
  }

  private static ScalarReported scalar(long millis, String source, long version, double value) {
    return new ScalarReported(millis, source, "margin", version, value, 1, 0);
  }

  /** The curves of a run, whose view gets each event first. */
  private static final class Recording {

    private final RunView view = new RunView();
    private final TrackedMetrics metrics;

    Recording(JobConfig job) {
      metrics = new TrackedMetrics(job, view);
    }

    List<Metric> record(TrainingEvent event) {
      view.apply(event);
      return metrics.record(event);
    }

    List<Metric> rest() {
      return metrics.rest();
    }
  }

  private static JobConfig job(String json) {
    return JobConfig.read("test", new JsonObject(json));
  }

  private static Map<String, Double> values(List<Metric> metrics) {
    Map<String, Double> values = new TreeMap<>();
    metrics.forEach(metric -> values.put(metric.name(), metric.value()));
    return values;
  }

  private static WorkerProgress progress(
      long timeMillis, int rank, long version, long samples, double loss) {
    return TestProgress.of(timeMillis, rank, 0, version, samples, loss);
  }
}
