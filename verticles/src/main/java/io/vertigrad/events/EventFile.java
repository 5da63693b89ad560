package io.vertigrad.events;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/** Reads an {@code events.jsonl} file, which has one event per line. */
public final class EventFile {

  private EventFile() {}

  /**
   * Passes every event to an action, in order. Skips lines that hold no event, such as an
   * incomplete last line, left by a killed run, and events of unknown types. Blocks while it reads.
   *
   * @param events path of an {@code events.jsonl}
   * @param action receives the events
   * @throws IOException when the file cannot be read
   */
  public static void forEach(Path events, Consumer<TrainingEvent> action) throws IOException {
    // Unlike a reader of Files, this one does not fail at bytes that are not UTF-8.
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(Files.newInputStream(events), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        read(line).ifPresent(action);
      }
    }
  }

  /**
   * Reads a line of an {@code events.jsonl}.
   *
   * @param line the line
   * @return the event; empty if the line is incomplete or damaged, or the event is of an unknown
   *     type
   */
  public static Optional<TrainingEvent> read(String line) {
    try {
      return line.isBlank()
          ? Optional.empty()
          : Optional.ofNullable(TrainingEvent.fromJson(new JsonObject(line)));
    } catch (DecodeException
        | ClassCastException
        | IllegalArgumentException
        | IllegalStateException
        | NullPointerException damaged) {
      return Optional.empty();
    }
  }
}
