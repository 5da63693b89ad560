package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.StreamRounds;
import io.vertigrad.streams.Event;
import io.vertigrad.streams.EventReader;
import io.vertigrad.streams.EventSource.Reading;
import io.vertigrad.streams.internal.FileSource.FileConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Reads one rank's events of a file. It passes over the lines of other ranks without parsing them,
 * except for the labels of the last ones before its own.
 */
final class FileReader implements EventReader {

  private static final int BLOCK_BYTES = 1 << 17;
  private static final int MOST_LINE_BYTES = 1 << 24;

  private final FileConfig config;
  private final Reading reading;
  private final Optional<StreamRounds> rounds;
  private final FileChannel channel;
  private final LineFormat format;
  private byte[] buffer = new byte[BLOCK_BYTES];
  private int from;
  private int to;
  private long bufferOffset;
  private boolean ended;
  private int lineFrom;
  private int lineTo;

  /** Number of the last line, from 1, and of the next event, from 0. */
  private long line;

  private long next;
  private long round;

  FileReader(FileConfig config, Reading reading, Optional<JsonObject> position) {
    this.config = config;
    this.reading = reading;
    this.rounds =
        reading.length().isPresent()
            ? Optional.of(
                new StreamRounds(reading.length().getAsLong(), reading.ranks(), reading.batch()))
            : Optional.empty();
    try {
      channel = FileChannel.open(config.path(), StandardOpenOption.READ);
      format = format();
      if (position.isPresent()) {
        seek(position.get());
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(config.path(), e), e);
    } catch (DataException e) {
      throw new DataException("%s: %s".formatted(config.path(), e.getMessage()), e);
    }
  }

  /** Reads the header of a CSV file. */
  private LineFormat format() throws IOException {
    if (config.format().equals(FileSource.JSON)) {
      return LineFormat.json(reading.fields());
    }
    if (!nextLine()) {
      throw new DataException("is empty, expected a header");
    }
    // A byte order mark is not part of the first column's name.
    boolean marked =
        lineTo - lineFrom >= 3
            && buffer[lineFrom] == (byte) 0xEF
            && buffer[lineFrom + 1] == (byte) 0xBB;
    return LineFormat.csv(
        LineFormat.split(
            buffer, marked ? lineFrom + 3 : lineFrom, lineTo, (byte) config.separator()),
        reading.fields(),
        config.separator());
  }

  private void seek(JsonObject position) throws IOException {
    bufferOffset = position.getLong("byte");
    line = position.getLong("line");
    next = position.getLong("event");
    round = position.getLong("round");
    from = 0;
    to = 0;
    ended = false;
    if (bufferOffset > channel.size()) {
      throw new DataException(
          "has %,d bytes, but training had read %,d: expected the file that the run began with"
              .formatted(channel.size(), bufferOffset));
    }
  }

  @Override
  public Optional<List<Event>> poll(long millis) {
    long first = first(reading.rank());
    long end = first(reading.rank() + 1);
    List<Event> events = new ArrayList<>();
    try {
      while (next < end) {
        if (!nextLine()) {
          throw new DataException(
              "%s: ends after %,d events, expected at least %,d: %s"
                  .formatted(
                      config.path(),
                      next,
                      end,
                      rounds.isPresent()
                          ? "it has become shorter since the run began"
                          : "use steps \"unbounded\", or fewer steps"));
        }
        if (next >= first - reading.before()) {
          events.add(new Event(0, line, next >= first, values()));
        }
        next++;
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(config.path(), e), e);
    }
    round++;
    return Optional.of(events);
  }

  private long first(int rank) {
    return rounds.isPresent()
        ? rounds.get().first(round, rank)
        : (round * reading.ranks() + rank) * reading.batch();
  }

  private Object[] values() {
    try {
      return format.read(buffer, lineFrom, lineTo);
    } catch (DataException e) {
      throw new DataException("%s: line %d: %s".formatted(config.path(), line, e.getMessage()), e);
    }
  }

  /** Finds the next line that is not blank. */
  private boolean nextLine() throws IOException {
    while (true) {
      int end = newline();
      if (end < 0) {
        return false;
      }
      lineFrom = from;
      lineTo = end > from && buffer[end - 1] == '\r' ? end - 1 : end;
      from = Math.min(end + 1, to);
      line++;
      for (int i = lineFrom; i < lineTo; i++) {
        if (buffer[i] != ' ' && buffer[i] != '\t') {
          return true;
        }
      }
    }
  }

  /** Returns the index of the next line's end; -1 at the end of the file. */
  private int newline() throws IOException {
    int at = from;
    while (true) {
      for (; at < to; at++) {
        if (buffer[at] == '\n') {
          return at;
        }
      }
      if (ended) {
        return from < to ? to : -1;
      }
      int kept = to - from;
      int searched = at - from;
      if (kept > MOST_LINE_BYTES) {
        throw new DataException(
            "%s: line %d has more than %,d bytes, expected lines of events"
                .formatted(config.path(), line + 1, MOST_LINE_BYTES));
      }
      fill(kept);
      at = from + searched;
    }
  }

  private void fill(int kept) throws IOException {
    if (kept == buffer.length) {
      buffer = Arrays.copyOf(buffer, 2 * buffer.length);
    }
    System.arraycopy(buffer, from, buffer, 0, kept);
    bufferOffset += from;
    from = 0;
    to = kept;
    int read = channel.read(ByteBuffer.wrap(buffer, to, buffer.length - to), bufferOffset + to);
    if (read < 0) {
      ended = true;
    } else {
      to += read;
    }
  }

  @Override
  public Optional<JsonObject> position() {
    return Optional.of(
        new JsonObject()
            .put("byte", bufferOffset + from)
            .put("line", line)
            .put("event", next)
            .put("round", round));
  }

  @Override
  public String place(Event event) {
    return "%s: line %d".formatted(config.path(), event.index());
  }

  @Override
  public String name() {
    return config.path().toString();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new DataException("%s: cannot be closed: %s".formatted(config.path(), e), e);
    }
  }
}
