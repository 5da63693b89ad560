package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RunCurvesTest {

  @TempDir private Path folder;

  @Test
  void shouldReportTheMeanLossOfWorkersAndOfTests() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.addAll(RunStory.after(1));
    events.addAll(RunStory.after(2));

    JsonObject curves = curves(events);

    assertEquals(RunStory.START, curves.getLong("startedMillis"));
    JsonObject training = curves.getJsonObject("training");
    assertEquals(JsonArray.of(1L, 2L), training.getJsonArray("version"));
    assertEquals(JsonArray.of(2f, 1f), training.getJsonArray("loss"));
    JsonObject tests = curves.getJsonObject("tests");
    assertEquals(JsonArray.of(1L, 2L), tests.getJsonArray("version"));
    assertEquals(JsonArray.of(1.0, 0.5), tests.getJsonArray("loss"));
    assertEquals(JsonArray.of(99.0, 99.5), tests.getJsonArray("accuracy"));
  }

  @Test
  void shouldStartASegmentAfterAPauseOrASilence() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int tenths : new int[] {1, 2, 3, 4, 5}) {
      events.addAll(RunStory.after(tenths));
    }
    events.add(new JobPaused(RunStory.START + 510));
    events.add(new JobResumed(RunStory.START + 590, 80));
    events.addAll(RunStory.after(6));
    events.addAll(RunStory.after(7));
    events.addAll(RunStory.after(200));

    JsonObject curves = curves(events);

    assertEquals(
        "[0,0,0,0,0,1,1,2]", curves.getJsonObject("training").getJsonArray("segment").encode());
    assertEquals(
        "[0,0,0,0,0,1,1,1]", curves.getJsonObject("tests").getJsonArray("segment").encode());
  }

  @Test
  @Tag("slow")
  void shouldSkipWorkersWithoutALossAndStayBounded() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(
        new WorkerProgress(
            9, 0, 0, 5, 5, 0, 0, 0, Double.NaN, 1, 0, 0, 9, 0, 9, Map.of(), Map.of(), Map.of()));
    assertEquals(0, size(curves(events)));

    for (int i = 1; i <= 2_000; i++) {
      events.addAll(RunStory.after(i));
    }
    int size = size(curves(events));
    assertTrue(size > Curve.CAPACITY / 2 && size <= Curve.CAPACITY, "" + size);
  }

  @Test
  void shouldSkipDamagedLinesAndReadTheOthers() throws IOException {
    List<String> lines = new ArrayList<>(lines(RunStory.beginning()));
    lines.add("\u0000\u0001\ufffd");
    lines.addAll(lines(RunStory.after(1)));
    lines.add("x".repeat(600_000));
    lines.add("{\"type\":\"workerProgress\",\"timeMillis\":" + "9".repeat(300_000) + "}");
    lines.add("{\"type\":\"evaluated\",\"timeMillis\":5,\"vers");
    lines.add("");
    lines.addAll(lines(RunStory.after(2)));
    Path file = folder.resolve("events.jsonl");
    Files.writeString(file, String.join("\n", lines) + "\n{\"type\":\"evaluated\",\"time");

    JsonObject curves = RunCurves.read(file, () -> false).toJson();

    assertEquals(JsonArray.of(1L, 2L), curves.getJsonObject("training").getJsonArray("version"));
    assertEquals(JsonArray.of(1.0, 0.5), curves.getJsonObject("tests").getJsonArray("loss"));
  }

  @Test
  void shouldReadWhatOtherLossesMeasure() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(new Evaluated(5, 1, 10, 0.25, 0, 0, 0, false, "00", "rmse", 0.5, List.of()));
    events.add(
        new Evaluated(6, 2, 10, Double.NaN, 0, 0, 0, false, "00", "rmse", Double.NaN, List.of()));
    events.add(new Evaluated(7, 3, 0, 1, 1, 0, 0, false, "00", "rmse", 1, List.of()));

    JsonObject tests = curves(events).getJsonObject("tests");

    assertEquals("[0.25,null]", tests.getJsonArray("loss").encode());
    assertEquals("[\"rmse\",null]", tests.getJsonArray("metric").encode());
    assertEquals("[0.5,null]", tests.getJsonArray("metricValue").encode());
  }

  @Test
  void shouldReadTheTestsOfAStreamInPercentOrInTheirUnit() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.addAll(RunStory.after(1).subList(0, 1));
    events.add(StreamTested.of(RunStory.START + 100, 0, 0, streamed(false, 50, 40)));
    events.add(StreamTested.of(RunStory.START + 200, 1, 0, streamed(false, 50, 50)));

    JsonObject tests = curves(events).getJsonObject("tests");

    assertEquals("[80.0,90.0]", tests.getJsonArray("accuracy").encode());
    assertEquals("[1,1]", tests.getJsonArray("version").encode());
    assertEquals("[null,null]", tests.getJsonArray("loss").encode());
    JsonObject values =
        curves(List.of(StreamTested.of(RunStory.START, 0, 0, streamed(true, 4, 4 * 2.5e9))))
            .getJsonObject("tests");
    assertEquals("[\"rmse\"]", values.getJsonArray("metric").encode());
    assertEquals("[50000.0]", values.getJsonArray("metricValue").encode());
  }

  private static StreamTests streamed(boolean values, long events, double score) {
    return new StreamTests(values, events, score, 10, 7, 3, 2, Map.of(), Map.of(), 0, 0, 0, 0);
  }

  @Test
  void shouldDropEverySecondTestWhenThereAreMany() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int i = 1; i <= 2_500; i++) {
      events.add(new Evaluated(i, i, 10, i, 50, false, "00"));
    }

    JsonArray versions = curves(events).getJsonObject("tests").getJsonArray("version");

    assertTrue(versions.size() > 500 && versions.size() <= 1_000, "" + versions.size());
    assertEquals(2_500L, versions.getLong(versions.size() - 1));
  }

  @Test
  void shouldReadScalars() throws IOException {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    events.add(new ScalarReported(5, "worker 0", "cut", 7, -1.25e-7, 3, 0));
    events.add(new ScalarReported(6, "worker 0", "cut", 8, Double.NaN, 4, 1));
    events.add(new ScalarReported(7, "worker 0", "cut", 9, 123_456_789_012.5, 5, 1));

    JsonObject source =
        curves(events).getJsonObject("scalars").getJsonObject("cut").getJsonObject("worker 0");

    assertEquals(JsonArray.of(5L, 7L), source.getJsonArray("timeMillis"));
    assertEquals(JsonArray.of(7L, 9L), source.getJsonArray("version"));
    assertEquals(JsonArray.of(-1.25e-7f, (float) 123_456_789_012.5), source.getJsonArray("value"));
    assertEquals(JsonArray.of(0L, 1L), source.getJsonArray("segment"));
    assertEquals(5, source.getLong("reports"));
    assertEquals(1, source.getLong("notFinite"));
  }

  private static int size(JsonObject curves) {
    return curves.getJsonObject("training").getJsonArray("loss").size();
  }

  private JsonObject curves(List<TrainingEvent> events) throws IOException {
    Path file = folder.resolve("events.jsonl");
    Files.write(file, lines(events));
    return RunCurves.read(file, () -> false).toJson();
  }

  private static List<String> lines(List<TrainingEvent> events) {
    return events.stream().map(event -> event.toJson().encode()).toList();
  }
}
