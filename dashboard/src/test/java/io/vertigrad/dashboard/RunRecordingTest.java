package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RunRecordingTest {

  @TempDir private Path folder;

  @Test
  void shouldEndWithTheStateOfTheLiveRun() throws IOException {
    RunMetrics live = RunStory.metrics();
    live.advance(RunStory.beginning(), 0);
    live.advance(RunStory.after(10), 0);
    live.advance(RunStory.after(20), 0);

    RunRecording recording = read(story(2), "");

    JsonObject last = recording.frames().get(recording.frames().size() - 1);
    assertEquals(live.snapshot(0).getJsonObject("state"), last.getJsonObject("state"));
    assertEquals(0, recording.beginning().getJsonArray("members").size());
    for (int i = 0; i < recording.frames().size(); i++) {
      assertEquals(i + 1, recording.frames().get(i).getInteger("number"));
    }
  }

  @Test
  @Tag("slow")
  void shouldStayBoundedWhenARunWasLong() throws IOException {
    List<TrainingEvent> events = story(3 * RunRecording.FRAMES);

    assertTrue(read(events, "").frames().size() <= RunRecording.FRAMES);
  }

  @Test
  void shouldLeaveOutTheTornLastLineOfARunThatWasKilled() throws IOException {
    assertEquals(read(story(2), ""), read(story(2), "{\"type\":\"evaluated\",\"timeMi"));
  }

  @Test
  void shouldReportProgressForEachEventInBothPasses() throws IOException {
    List<TrainingEvent> events = story(2);
    read(events, "");
    AtomicInteger progress = new AtomicInteger();

    RunRecording.read(
        folder.resolve("events.jsonl"),
        RunDescription.of(RunStory.job(), false),
        Optional.empty(),
        progress::incrementAndGet);

    assertEquals(2 * events.size(), progress.get());
  }

  @Test
  void shouldReportTheMissingEvent() {
    IOException refused = assertThrows(IOException.class, () -> read(List.of(), "\n"));

    assertTrue(refused.getMessage().contains("holds no event"), refused.getMessage());
  }

  @Test
  void shouldEndWithTheNumbersOfTheSummary() throws IOException {
    Path file = folder.resolve("events.jsonl");
    Files.write(file, story(3).stream().map(event -> event.toJson().encode()).toList());
    JsonObject summary =
        new JsonObject()
            .put("state", "interrupted")
            .put("seconds", 2.75)
            .put("samples", 770)
            .put("samplesPerSecond", 280.0)
            .put("loss", 0.25);

    List<JsonObject> frames =
        RunRecording.read(
                file, RunDescription.of(RunStory.job(), false), Optional.of(summary), () -> {})
            .frames();

    JsonObject state = frames.get(frames.size() - 1).getJsonObject("state");
    assertEquals(2.75, state.getDouble("seconds"));
    assertEquals(770, state.getLong("samples"));
    assertEquals(280, state.getDouble("samplesPerSecond"));
    assertEquals(0.25, state.getDouble("testLoss"));
    assertEquals("interrupted", state.getString("phase"));
    assertFalse(frames.get(frames.size() - 2).getJsonObject("state").containsKey("seconds"));
  }

  private static List<TrainingEvent> story(int seconds) {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int second = 1; second <= seconds; second++) {
      events.addAll(RunStory.after(10 * second));
    }
    return events;
  }

  private RunRecording read(List<TrainingEvent> events, String rest) throws IOException {
    Path file = folder.resolve("events.jsonl");
    StringBuilder lines = new StringBuilder();
    events.forEach(event -> lines.append(event.toJson().encode()).append('\n'));
    Files.writeString(file, lines + rest);
    return RunRecording.read(
        file, RunDescription.of(RunStory.job(), false), Optional.empty(), () -> {});
  }
}
