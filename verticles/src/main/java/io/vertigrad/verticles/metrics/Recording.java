package io.vertigrad.verticles.metrics;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A finished run as the messages its dashboard would have had, at most {@value #FRAMES} of them,
 * however long it took.
 *
 * @param beginning the snapshot before anything happened
 * @param frames the deltas, in order
 */
record Recording(JsonObject beginning, List<JsonObject> frames) {

  static final int FRAMES = 1_500;
  private static final long SHORTEST_MILLIS = 333;

  /** Reads {@code events.jsonl}; a torn last line, of a run that was killed, is left out. */
  static Recording read(Path events, RunDescription run) throws IOException {
    long[] span = {Long.MAX_VALUE, Long.MIN_VALUE};
    forEach(
        events,
        event -> {
          span[0] = Math.min(span[0], event.timeMillis());
          span[1] = Math.max(span[1], event.timeMillis());
        });
    if (span[1] < span[0]) {
      throw new IOException(events + ": holds no event, expected one JSON object a line");
    }
    RunMetrics metrics = new RunMetrics(run);
    JsonObject beginning = metrics.snapshot(span[0]);
    Window window = new Window(metrics, span[0], span[1]);
    forEach(events, window::add);
    window.close();
    return new Recording(beginning, window.frames);
  }

  private static void forEach(Path events, Consumer<TrainingEvent> action) throws IOException {
    try (BufferedReader lines = Files.newBufferedReader(events)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        TrainingEvent event = parsed(line);
        if (event != null) {
          action.accept(event);
        }
      }
    }
  }

  private static TrainingEvent parsed(String line) {
    try {
      return line.isBlank() ? null : TrainingEvent.fromJson(new JsonObject(line));
    } catch (DecodeException torn) {
      return null;
    }
  }

  /**
   * Cuts the run into equal times; members' clocks may differ a little, so time never goes back.
   */
  private static final class Window {

    private final RunMetrics metrics;
    private final long lengthMillis;
    private final List<JsonObject> frames = new ArrayList<>();
    private final List<TrainingEvent> events = new ArrayList<>();
    private long endMillis;

    Window(RunMetrics metrics, long firstMillis, long lastMillis) {
      this.metrics = metrics;
      lengthMillis = Math.max(SHORTEST_MILLIS, (lastMillis - firstMillis) / FRAMES + 1);
      endMillis = firstMillis + lengthMillis;
    }

    void add(TrainingEvent event) {
      while (event.timeMillis() >= endMillis) {
        close();
        endMillis += lengthMillis;
      }
      events.add(event);
    }

    void close() {
      if (!events.isEmpty()) {
        frames.add(metrics.advance(events, endMillis));
        events.clear();
      }
    }
  }
}
