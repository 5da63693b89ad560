package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.observability.EventFile;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A finished run as the messages that its dashboard would have received, at most {@value #FRAMES}
 * of them, whatever its length.
 *
 * @param beginning the snapshot before the first event
 * @param frames the deltas, in order
 */
record RunRecording(JsonObject beginning, List<JsonObject> frames) {

  static final int FRAMES = 1_500;
  private static final long SHORTEST_MILLIS = 333;

  /**
   * Reads {@code events.jsonl}; leaves out the incomplete last line of a killed run.
   *
   * @param summary the run's {@code summary.json}, if it was written
   * @param progress is run for each event that has been read; each is read twice
   */
  public static RunRecording read(
      Path events, RunDescription run, Optional<JsonObject> summary, Runnable progress)
      throws IOException {
    long[] span = {Long.MAX_VALUE, Long.MIN_VALUE};
    EventFile.forEach(
        events,
        event -> {
          span[0] = Math.min(span[0], event.timeMillis());
          span[1] = Math.max(span[1], event.timeMillis());
          progress.run();
        });
    if (span[1] < span[0]) {
      throw new IOException(events + ": holds no event, expected one JSON object a line");
    }
    RunMetrics metrics = new RunMetrics(run);
    JsonObject beginning = metrics.snapshot(span[0]);
    Window window = new Window(metrics, span[0], span[1]);
    EventFile.forEach(
        events,
        event -> {
          window.add(event);
          progress.run();
        });
    window.close();
    summary.ifPresent(window::conclude);
    return new RunRecording(beginning, window.frames);
  }

  /**
   * Cuts the run into windows of equal length. Members' clocks may differ a little, so the windows
   * follow the order of the events and time never goes back.
   */
  private static final class Window {

    private final RunMetrics metrics;
    private final long lengthMillis;
    private final List<JsonObject> frames = new ArrayList<>();
    private final List<TrainingEvent> events = new ArrayList<>();
    private long endMillis;

    Window(RunMetrics metrics, long firstMillis, long lastMillis) {
      this.metrics = metrics;
      // Leaves one frame for the summary.
      lengthMillis = Math.max(SHORTEST_MILLIS, (lastMillis - firstMillis) / (FRAMES - 1) + 1);
      endMillis = firstMillis + lengthMillis;
    }

    void add(TrainingEvent event) {
      while (event.timeMillis() >= endMillis) {
        close();
        endMillis += lengthMillis;
      }
      events.add(event);
    }

    void conclude(JsonObject summary) {
      metrics.summarize(summary);
      frames.add(metrics.advance(List.of(), endMillis));
    }

    void close() {
      if (!events.isEmpty()) {
        frames.add(metrics.advance(events, endMillis));
        events.clear();
      }
    }
  }
}
