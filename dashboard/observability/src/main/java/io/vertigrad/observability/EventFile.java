package io.vertigrad.observability;

import io.vertigrad.events.TrainingEvent;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Reads an {@code events.jsonl} file, which has one event per line. */
public final class EventFile {

  private static final int MOST_LINE_BYTES = 1 << 22;

  private EventFile() {}

  /** Fails at a line that is longer than any event, such as a hole that a crash has left. */
  private static final class Lines extends FilterInputStream {

    private final Path file;
    private final long from;
    private long line = 1;
    private int length;

    Lines(Path file, long from) throws IOException {
      super(Channels.newInputStream(FileChannel.open(file).position(from)));
      this.file = file;
      this.from = from;
    }

    @Override
    public int read(byte[] bytes, int first, int most) throws IOException {
      int read = super.read(bytes, first, most);
      for (int i = first; i < first + read; i++) {
        length++;
        if (bytes[i] == '\n') {
          length = 0;
          line++;
        }
      }
      if (length > MOST_LINE_BYTES) {
        throw new IOException(
            "%s: line %s%s has more than %s bytes, expected one event: the file is damaged"
                .formatted(
                    file, line, from == 0 ? "" : " from byte " + from + " on", MOST_LINE_BYTES));
      }
      return read;
    }
  }

  /**
   * Passes every event to an action, in order. Skips lines that hold no event, such as an
   * incomplete last line, left by a killed run, and events of unknown types. Blocks while it reads.
   * Memory is bounded: a line that is longer than any event is an error.
   *
   * @param events path of an {@code events.jsonl}
   * @param action receives the events
   * @throws IOException when the file cannot be read, or is no regular file
   */
  public static void forEach(Path events, Consumer<TrainingEvent> action) throws IOException {
    forEach(events, 0, line -> true, action);
  }

  /**
   * Passes the events from a position on to an action, as {@link #forEach(Path, Consumer)} does,
   * but only those of the kinds that a fold reads. Others are not parsed, which saves most of the
   * time.
   *
   * @param events path of an {@code events.jsonl}
   * @param from where a line begins, in bytes from the beginning of the file
   * @param fold chooses the events
   * @param action receives the events
   * @throws IOException when the file cannot be read, or is no regular file
   */
  public static void forEach(Path events, long from, EventFold fold, Consumer<TrainingEvent> action)
      throws IOException {
    forEach(events, from, fold::mayRead, action);
  }

  private static void forEach(
      Path events, long from, Predicate<String> chosen, Consumer<TrainingEvent> action)
      throws IOException {
    if (!Files.isRegularFile(events)) {
      throw new IOException(events + ": is no regular file");
    }
    // Unlike a reader of Files, this one does not fail at bytes that are not UTF-8.
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(new Lines(events, from), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (chosen.test(line)) {
          read(line).ifPresent(action);
        }
      }
    }
  }

  /**
   * Reads the events of a part of a file, each when it is asked for. An event that begins before
   * the part or ends after it is left out.
   *
   * @param events path of an {@code events.jsonl}
   * @param from where the part begins, in bytes from the beginning of the file
   * @param most length of the part in bytes; it ends with the file at the latest
   * @return the events in order
   * @throws IOException when the file cannot be read
   */
  public static Stream<TrainingEvent> part(Path events, long from, int most) throws IOException {
    try (FileChannel file = FileChannel.open(events)) {
      ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(most, Math.max(0, file.size() - from)));
      while (bytes.hasRemaining() && file.read(bytes, from + bytes.position()) >= 0) {
        // Reads on: a channel may return less than was asked for.
      }
      String text = StandardCharsets.UTF_8.decode(bytes.flip()).toString();
      // The first line is a part of one, unless the file begins with it.
      return text.lines().skip(from == 0 ? 0 : 1).flatMap(line -> read(line).stream());
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
