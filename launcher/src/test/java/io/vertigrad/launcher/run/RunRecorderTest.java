package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.observability.EventFile;
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
    try (RunRecorder recorder = new RunRecorder(file, problem -> fail(problem))) {
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

  private static ScalarReported scalar(long millis, String source, long version) {
    return new ScalarReported(millis, source, "margin", version, 0.5, version, 0);
  }
}
