package io.vertigrad.events;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/** Reads an {@code events.jsonl} file, which has one event per line. */
public final class EventFile {

  private EventFile() {}

  /**
   * Passes every event to an action, in order. Skips an incomplete last line, left by a killed run,
   * and events of unknown types. Blocks while it reads.
   *
   * @param events path of an {@code events.jsonl}
   * @param action receives the events
   * @throws IOException when the file cannot be read
   */
  public static void forEach(Path events, Consumer<TrainingEvent> action) throws IOException {
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
}
