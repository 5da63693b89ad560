package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
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

  private static int size(JsonObject curves) {
    return curves.getJsonObject("training").getJsonArray("loss").size();
  }

  private JsonObject curves(List<TrainingEvent> events) throws IOException {
    Path file = folder.resolve("events.jsonl");
    Files.write(file, events.stream().map(event -> event.toJson().encode()).toList());
    return RunCurves.read(file).toJson();
  }
}
