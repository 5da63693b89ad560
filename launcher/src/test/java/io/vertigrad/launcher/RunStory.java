package io.vertigrad.launcher;

import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.metrics.TrainingEvent.Evaluated;
import io.vertigrad.verticles.metrics.TrainingEvent.JobStarted;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberJoined;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.metrics.TrainingEvent.WorkerProgress;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Events as a run would have left them, without the run. */
final class RunStory {

  private static final long START = 1_700_000_000_000L;

  private RunStory() {}

  /** Sixty seconds of a run of one worker, at whose end the accuracy is 99 %. */
  static List<TrainingEvent> of(String node, String reason) {
    List<TrainingEvent> events = new ArrayList<>();
    events.add(new MemberJoined(START, "server", 0, 0, node));
    events.add(new MemberJoined(START, "worker", 0, 0, node));
    events.add(new JobStarted(START + 1_000, "sync", 1, 1, 1_960, 60, 60));
    for (int i = 1; i <= 60; i++) {
      long now = START + 1_000 * (i + 1);
      events.add(
          new WorkerProgress(
              now,
              0,
              0,
              i,
              i,
              0,
              128L * i,
              2.0 / i,
              0.7 * i,
              0.2 * i,
              0.1 * i,
              1_000L * i,
              0,
              2_000L * i,
              Map.of(0, (long) i),
              Map.of(0, 1_000L * i),
              Map.of(0, 2_000L * i)));
      events.add(new Evaluated(now, i, 500, 1.0 / i, 39 + i, false, "00"));
    }
    events.add(new MemberLeft(START + 62_000, "worker", 0, 0, reason));
    return events;
  }

  /** The folder of a run that came to its end, with these events. */
  static Path folder(Path parent, String name, List<TrainingEvent> events) throws IOException {
    Path run = Files.createDirectory(parent.resolve(name));
    JsonObject summary = new JsonObject().put("strategy", "sync").put("version", 60);
    summary.put("samples", 60 * 128).put("samplesPerSecond", 128.0);
    Files.writeString(run.resolve("summary.json"), summary.encode());
    write(run.resolve("events.jsonl"), events);
    return run;
  }

  /** An {@code events.jsonl}. */
  static void write(Path file, List<TrainingEvent> events) throws IOException {
    Files.write(file, events.stream().map(event -> event.toJson().encode()).toList());
  }
}
