package io.vertigrad.verticles.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RecordingTest {

  @TempDir private Path folder;

  @Test
  void shouldEndWhereTheLiveRunEnded() throws IOException {
    RunMetrics live = RunStory.metrics();
    live.advance(RunStory.beginning(), 0);
    live.advance(RunStory.after(10), 0);
    live.advance(RunStory.after(20), 0);

    Recording recording = read(story(2), "");

    JsonObject last = recording.frames().get(recording.frames().size() - 1);
    assertEquals(live.snapshot(0).getJsonObject("state"), last.getJsonObject("state"));
    assertEquals(0, recording.beginning().getJsonArray("members").size());
    for (int i = 0; i < recording.frames().size(); i++) {
      assertEquals(i + 1, recording.frames().get(i).getInteger("number"));
    }
  }

  @Test
  void shouldStayBoundedWhenARunWasLong() throws IOException {
    List<TrainingEvent> events = story(3 * Recording.FRAMES);

    assertTrue(read(events, "").frames().size() <= Recording.FRAMES);
  }

  @Test
  void shouldLeaveOutTheTornLastLineOfARunThatWasKilled() throws IOException {
    assertEquals(read(story(2), ""), read(story(2), "{\"type\":\"evaluated\",\"timeMi"));
  }

  @Test
  void shouldSayWhatIsMissingWhenThereIsNoEvent() {
    IOException refused = assertThrows(IOException.class, () -> read(List.of(), "\n"));

    assertTrue(refused.getMessage().contains("holds no event"), refused.getMessage());
  }

  private static List<TrainingEvent> story(int seconds) {
    List<TrainingEvent> events = new ArrayList<>(RunStory.beginning());
    for (int second = 1; second <= seconds; second++) {
      events.addAll(RunStory.after(10 * second));
    }
    return events;
  }

  private Recording read(List<TrainingEvent> events, String rest) throws IOException {
    Path file = folder.resolve("events.jsonl");
    StringBuilder lines = new StringBuilder();
    events.forEach(event -> lines.append(event.toJson().encode()).append('\n'));
    Files.writeString(file, lines + rest);
    return Recording.read(file, RunDescription.of(RunStory.job(), false));
  }
}
