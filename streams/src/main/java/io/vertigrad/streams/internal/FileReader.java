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
import java.util.Locale;
import java.util.Optional;
import java.util.zip.CRC32C;

/**
 * Reads one rank's events of a file. It passes over the lines of other ranks without parsing them,
 * except for the labels of the last ones before its own.
 */
final class FileReader implements EventReader {

  private static final int BLOCK_BYTES = 1 << 17;
  private static final int MOST_LINE_BYTES = 1 << 24;

  private static final String SAME_FILE =
      "expected the file that the run began with, which may only have grown: start a new run with train";

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

  /** True if the last line is longer than a line may be; then only its end is in the buffer. */
  private boolean tooLong;

  private long longFrom;
  private final Fingerprint fingerprint = new Fingerprint();

  /** Hash of the bytes since the batch before, of other ranks' lines as well. */
  private final CRC32C batchHash = new CRC32C();

  /** Offsets of the first byte of each event of the last batch, and after its last byte. */
  private long[] spans = new long[16];

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
          String.format(
              Locale.ROOT,
              "has %,d bytes, but training had read %,d: %s",
              channel.size(),
              bufferOffset,
              SAME_FILE));
    }
    long begin = Math.max(0, bufferOffset - Fingerprint.TAIL_BYTES);
    if (!fingerprint.of(bufferOffset).equals(position.getString("hash"))) {
      throw new DataException(
          String.format(
              Locale.ROOT,
              "is another file than the run began with: of its first %,d bytes, which were trained on, the first %,d or those from %,d on differ; %s",
              bufferOffset,
              Math.min(bufferOffset, Fingerprint.HEAD_BYTES),
              begin,
              SAME_FILE));
    }
  }

  /** Distinguishes a file from another one by what was read of it. The file may grow. */
  private final class Fingerprint {

    static final long HEAD_BYTES = 1L << 28;
    static final long TAIL_BYTES = 1L << 16;

    private final CRC32C head = new CRC32C();
    private long headBytes;

    /** Returns the hash of the file's beginning, and of the last block before an offset. */
    String of(long end) {
      try {
        headBytes = add(head, headBytes, Math.min(end, HEAD_BYTES));
        CRC32C tail = new CRC32C();
        add(tail, Math.max(0, end - TAIL_BYTES), end);
        return "%08x%08x".formatted(head.getValue(), tail.getValue());
      } catch (IOException e) {
        throw new DataException("%s: cannot be read: %s".formatted(config.path(), e), e);
      }
    }

    private long add(CRC32C hash, long first, long end) throws IOException {
      ByteBuffer block = ByteBuffer.allocate(BLOCK_BYTES);
      long at = first;
      while (at < end) {
        block.clear().limit((int) Math.min(BLOCK_BYTES, end - at));
        int read = channel.read(block, at);
        if (read < 0) {
          throw new IOException(
              String.format(Locale.ROOT, "it has become shorter than %,d bytes", end));
        }
        hash.update(block.flip());
        at += read;
      }
      return Math.max(first, end);
    }
  }

  @Override
  public Optional<List<Event>> poll(long millis) {
    long first = first(reading.rank());
    long end = first(reading.rank() + 1);
    List<Event> events = new ArrayList<>();
    batchHash.reset();
    try {
      while (next < end) {
        if (!nextLine()) {
          throw new DataException(
              String.format(
                  Locale.ROOT,
                  "%s: ends after %,d events, expected at least %,d: %s",
                  config.path(),
                  next,
                  end,
                  rounds.isPresent()
                      ? "it has become shorter since the run began"
                      : "use steps \"unbounded\", or fewer steps"));
        }
        if (next >= first - reading.before()) {
          keepSpan(events.size());
          events.add(event(next >= first));
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

  private Event event(boolean trained) {
    try {
      if (tooLong) {
        throw new DataException(
            String.format(
                Locale.ROOT, "has more than %,d bytes, expected lines of events", MOST_LINE_BYTES));
      }
      return new Event(0, line, trained, format.read(buffer, lineFrom, lineTo));
    } catch (DataException e) {
      return Event.unreadable(0, line, trained, e.getMessage());
    }
  }

  private void keepSpan(int index) {
    if (2 * index + 2 > spans.length) {
      spans = Arrays.copyOf(spans, 2 * spans.length);
    }
    spans[2 * index] = tooLong ? longFrom : bufferOffset + lineFrom;
    spans[2 * index + 1] = bufferOffset + lineTo;
  }

  /** Returns the line; of one that is too long its first block. */
  @Override
  public Event.Original original(int index, Event event) {
    long begin = spans[2 * index];
    long length = spans[2 * index + 1] - begin;
    ByteBuffer bytes = ByteBuffer.allocate((int) (length > MOST_LINE_BYTES ? BLOCK_BYTES : length));
    try {
      while (bytes.hasRemaining() && channel.read(bytes, begin + bytes.position()) >= 0) {
        // Reads on.
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(config.path(), e), e);
    }
    return new Event.Original(
        place(event),
        "%s@%s".formatted(config.path().toAbsolutePath(), event.index()),
        new byte[0],
        Arrays.copyOf(bytes.array(), bytes.position()));
  }

  /** Finds the next line that is not blank. */
  private boolean nextLine() throws IOException {
    while (true) {
      tooLong = false;
      int end = newline();
      if (end < 0) {
        return false;
      }
      lineFrom = from;
      lineTo = end > from && buffer[end - 1] == '\r' ? end - 1 : end;
      int after = Math.min(end + 1, to);
      batchHash.update(buffer, from, after - from);
      from = after;
      line++;
      if (tooLong) {
        return true;
      }
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
        return from < to || tooLong ? to : -1;
      }
      int kept = to - from;
      int searched = at - from;
      if (kept > MOST_LINE_BYTES) {
        longFrom = tooLong ? longFrom : bufferOffset + from;
        tooLong = true;
        from = to;
        kept = 0;
        searched = 0;
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
            .put("round", round)
            .put("hash", fingerprint.of(bufferOffset + from)));
  }

  /** Returns the offset after the last batch, and the hash of what was read for it. */
  @Override
  public long[] cursor() {
    return new long[] {bufferOffset + from, batchHash.getValue()};
  }

  @Override
  public String place(Event event) {
    return "%s: line %s".formatted(config.path(), event.index());
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
