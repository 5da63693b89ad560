package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.observability.UpdateOutliers;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class ScalarCurvesTest {

  private final RunMetrics metrics = RunStory.metrics();
  private final ScalarCurves curves = new ScalarCurves("samples", "bytes");

  @Test
  void shouldHaveTheSameColumnsInSnapshotAndDelta() {
    metrics.advance(RunStory.beginning(), 0);
    metrics.advance(RunStory.after(10), 0);
    JsonObject delta = metrics.advance(List.of(reported(RunStory.START + 1_100, 11, 0.25, 40)), 0);

    JsonObject point = delta.getJsonArray("scalars").getJsonObject(0);
    assertEquals("margin", point.getString("name"));
    assertEquals("server 0", point.getString("source"));
    assertEquals(11, point.getLong("version"));
    assertEquals(0.25, point.getDouble("value"));
    // Both workers have trained ten batches of 128 samples and sent 10,000 bytes.
    assertEquals(2_560, point.getLong("samples"));
    assertEquals(20_000, point.getLong("bytes"));
    JsonObject columns = columns(metrics.snapshot(0).getJsonObject("scalars"));
    for (String name : List.of("timeMillis", "version", "value", "samples", "bytes", "segment")) {
      String column = columns.getJsonArray(name).encode();
      assertEquals(JsonArray.of(point.getValue(name)).encode(), column, name);
    }
    assertEquals(40, columns.getLong("reports"));
    assertEquals(0, delta.getJsonArray("events").size(), "scalars are figures");
    assertFalse(metrics.advance(List.of(), 0).containsKey("scalars"));
  }

  @Test
  void shouldBeginASegmentAfterAPauseAndAfterAValueThatIsNotFinite() {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(reported(RunStory.START + 100, 1, 1, 1));
    events.add(reported(RunStory.START + 200, 2, Double.NaN, 2));
    events.add(reported(RunStory.START + 300, 3, 3, 3));
    events.add(new JobResumed(RunStory.START + 400, 10));
    events.add(reported(RunStory.START + 500, 4, 4, 4));
    events.add(reported(RunStory.START + 600, 5, 1e300, 5));

    JsonObject delta = metrics.advance(events, 0);
    JsonObject columns = columns(metrics.snapshot(0).getJsonObject("scalars"));

    assertEquals("[1.0,3.0,4.0]", columns.getJsonArray("value").encode());
    assertEquals("[0,1,2]", columns.getJsonArray("segment").encode());
    assertFalse(delta.getJsonArray("scalars").getJsonObject(0).containsKey("value"));
  }

  @Test
  void shouldShowTheUpdatesOfAWorkerAndDrawTheirDistanceOnlyWhenTheyAreReported() {
    metrics.advance(RunStory.beginning(), 0);
    List<TrainingEvent> events = new ArrayList<>();
    for (int version = 1; version <= 4; version++) {
      events.add(ofWorker(UpdateOutliers.DISTANCE, version, 1 + version / 10.0));
      events.add(ofWorker(UpdateOutliers.COSINE, version, 0.5));
      events.add(ofWorker(UpdateOutliers.LEFT_OUT, version, version % 2));
    }

    JsonObject delta = metrics.advance(events, 0);

    JsonObject worker = delta.getJsonArray("members").getJsonObject(0);
    assertEquals("worker", worker.getString("role"));
    JsonObject update = worker.getJsonObject("update");
    assertEquals(1.25, update.getDouble("distance"), 1e-12);
    assertEquals(0.5, update.getDouble("cosine"), 1e-12);
    assertEquals(0.5, update.getDouble("leftOut"), 1e-12);
    assertEquals(
        Set.of(UpdateOutliers.DISTANCE, UpdateOutliers.COSINE),
        metrics.snapshot(0).getJsonObject("scalars").fieldNames());
  }

  private static ScalarReported ofWorker(String name, long version, double value) {
    return new ScalarReported(
        RunStory.START + 100 * version, "worker 0", name, version, value, version, 0);
  }

  @Test
  void shouldCountOnWhenASourceBeginsAgain() {
    curves.add(reported(100, 1, 1, 10), 0, 0);
    curves.add(reported(200, 2, 1, 14), 0, 0);
    curves.add(reported(300, 2, 1, 3), 0, 0);

    JsonObject columns = columns(curves.toJson());
    assertEquals(17, columns.getLong("reports"));
  }

  @Test
  void shouldKeepTheFirstCurvesAndCountTheOthers() {
    for (int i = 0; i <= ScalarCurves.CURVES; i++) {
      curves.add(new ScalarReported(100, "worker " + i, "margin", 1, i, 1, 0), 0, 0);
    }

    assertEquals(ScalarCurves.CURVES, curves.toJson().getJsonObject("margin").size());
    assertEquals(1, curves.leftOut());
  }

  private static JsonObject columns(JsonObject scalars) {
    return scalars.getJsonObject("margin").getJsonObject("server 0");
  }

  private static ScalarReported reported(
      long timeMillis, long version, double value, long reports) {
    return new ScalarReported(timeMillis, "server 0", "margin", version, value, reports, 0);
  }
}
