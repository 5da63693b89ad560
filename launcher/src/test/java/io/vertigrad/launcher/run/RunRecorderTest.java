package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.observability.EventFile;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class RunRecorderTest {

  @TempDir private Path folder;

  @Test
  void shouldWriteEachScalarOnceASecondAndItsLastValueAtTheEnd() throws Exception {
    Path file = folder.resolve("events.jsonl");
    try (RunRecorder recorder = recorder()) {
      recorder.record(scalar(0, "server 0", 1));
      recorder.record(scalar(250, "server 0", 2));
      recorder.record(scalar(300, "server 1", 2));
      recorder.record(scalar(1_000, "server 0", 3));
      recorder.record(scalar(1_250, "server 0", 4));
      recorder.record(new JobFinished(1_300, 4, 40));
    }

    List<TrainingEvent> written = new ArrayList<>();
    EventFile.forEach(file, written::add);
    assertEquals(
        List.of(
            scalar(0, "server 0", 1),
            scalar(300, "server 1", 2),
            scalar(1_000, "server 0", 3),
            new JobFinished(1_300, 4, 40),
            scalar(1_250, "server 0", 4)),
        written);
  }

  @Test
  void shouldWriteTheCurvesAtTheEndAndContinueThemWhenTheRunIsResumed() throws Exception {
    try (RunRecorder recorder = recorder()) {
      recorder.record(tested(1_000, 1));
      recorder.record(scalar(1_100, "server 0", 1));
      recorder.record(scalar(1_200, "server 0", 2));
    }
    assertEquals(Files.size(folder.resolve("events.jsonl")), saved().getLong("eventBytes"));
    assertEquals("[1]", versions());
    try (RunRecorder recorder = recorder()) {
      recorder.record(tested(2_000, 2));
    }

    assertEquals("[1,2]", versions());
    JsonObject scalars = saved().getJsonObject("scalars").getJsonObject("margin");
    assertEquals("[1,2]", scalars.getJsonObject("server 0").getJsonArray("version").encode());
  }

  @Test
  void shouldWriteTheCurvesWhileTheRunGoesOn() throws Exception {
    RunRecorder recorder = recorder();
    recorder.record(tested(1_000, 1));
    recorder.record(tested(1_000 + CurvesFile.INTERVAL_MILLIS - 1, 2));
    assertTrue(Files.notExists(folder.resolve("curves.json")));

    recorder.record(tested(1_000 + CurvesFile.INTERVAL_MILLIS, 3));
    assertEquals("[1,2,3]", versions());
    recorder.record(tested(1_001 + CurvesFile.INTERVAL_MILLIS, 4));

    // The process is killed here; a resumed run has all that it wrote.
    assertEquals("[1,2,3]", versions());
    recorder().close();
    assertEquals("[1,2,3,4]", versions());
  }

  @Test
  void shouldRecordARunWhoseCurvesCannotBeWritten() throws Exception {
    Files.createDirectories(folder.resolve("curves.json/in the way"));
    try (RunRecorder recorder = recorder()) {
      recorder.record(tested(1_000, 1));
      recorder.record(tested(100_000, 2));
      recorder.record(tested(200_000, 3));
    }

    assertEquals(3, Files.readAllLines(folder.resolve("events.jsonl")).size());
  }

  private RunRecorder recorder() {
    return new RunRecorder(new RunDirectory(folder), problem -> fail(problem));
  }

  private JsonObject saved() throws Exception {
    return new JsonObject(Files.readString(folder.resolve("curves.json")));
  }

  private String versions() throws Exception {
    return saved().getJsonObject("tests").getJsonArray("version").encode();
  }

  private static Evaluated tested(long millis, long version) {
    return new Evaluated(millis, version, 10, 0.5, 50, false, "00");
  }

  private static ScalarReported scalar(long millis, String source, long version) {
    return new ScalarReported(millis, source, "margin", version, 0.5, version, 0);
  }
}
