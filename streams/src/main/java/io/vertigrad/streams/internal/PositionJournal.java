package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.DataException;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The positions of one rank in its stream, by step, beside the checkpoints of the run. A
 * replacement of the worker, or a run that is resumed, finds where any recent step begins.
 *
 * <p>A file begins with the state before a step: the source's position, the last labels and the
 * tests so far. Then each step appends where its batch ended and what its events were tested with,
 * before its gradient is sent. Files are not forced to the disk: they survive the process, not the
 * machine. Used by one thread, but for {@link #isBroken}.
 *
 * <p>If a file cannot be written, training goes on. The steps from there on are missing until
 * {@link #begin} succeeds again. A run that is resumed among them reads their events again to find
 * where they end.
 */
final class PositionJournal implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(PositionJournal.class);
  private static final int FORMAT = 2;
  private static final int KEPT = 256;
  private static final int MOST_HEAD_BYTES = 1 << 28;
  private static final int MOST_EVENTS = 1 << 24;
  private static final int MOST_CURSOR = 16;

  /** Length of the cursor of a step that took no batch. */
  private static final int NO_BATCH = -1;

  private final Path folder;
  private final int rank;
  private final Pattern names;
  private final List<String> warnings = new ArrayList<>();
  private FileChannel channel;
  private long goodBytes;
  private long step;
  private long failures;
  private volatile boolean broken;
  private ByteBuffer record = ByteBuffer.allocateDirect(4096);

  /**
   * The batch of one step and its tests.
   *
   * @param labels class or value of each event
   * @param predictions what the model predicted
   * @param previous the label before each event; NaN if none is known
   * @param bad number of events that were left out
   * @param cursor where the batch ended; empty for a step that took no batch
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Step(
      float[] labels, float[] predictions, float[] previous, int bad, Optional<long[]> cursor) {

    /** A step that took no batch. */
    static final Step EMPTY =
        new Step(new float[0], new float[0], new float[0], 0, Optional.empty());
  }

  /**
   * The state before a step, and what happened since.
   *
   * @param step the step before which the state was written
   * @param state the state
   * @param steps the steps from there on, as far as they were recorded
   */
  record Found(long step, JsonObject state, List<Step> steps) {}

  PositionJournal(Path folder, int rank) {
    this.folder = folder;
    this.rank = rank;
    this.names = Pattern.compile("stream-%s-(\\d{1,18})\\.positions".formatted(rank));
  }

  /**
   * Returns the newest state that is not after a step, with the steps up to it.
   *
   * @throws DataException if the files are those of another version of this program
   */
  Optional<Found> find(long before) {
    for (Segment segment : segments()) {
      if (segment.step() <= before) {
        Optional<Found> found = read(segment, before);
        if (found.isPresent()) {
          return found;
        }
      }
    }
    return Optional.empty();
  }

  /** Deletes the states from a step on, because training goes on there. */
  void deleteFrom(long first) {
    for (Segment segment : segments()) {
      if (segment.step() >= first) {
        delete(segment.file());
      }
    }
  }

  /** Begins a file with the state before a step. */
  void begin(long first, JsonObject state) {
    step = first;
    Path part = folder.resolve("stream-%s.positions.part".formatted(rank));
    try {
      close();
      Files.createDirectories(folder);
      Path file = folder.resolve("stream-%s-%s.positions".formatted(rank, first));
      byte[] head = state.copy().put("format", FORMAT).toBuffer().getBytes();
      ByteBuffer bytes = ByteBuffer.allocate(4 + head.length).putInt(head.length).put(head).flip();
      try (FileChannel written =
          FileChannel.open(
              part,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        while (bytes.hasRemaining()) {
          written.write(bytes);
        }
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
      goodBytes = 4L + head.length;
      if (broken) {
        warnings.add("%s: positions are written again from step %s on".formatted(folder, first));
      }
      broken = false;
      failures = 0;
    } catch (IOException e) {
      broken(e);
      return;
    }
    deleteOld();
  }

  private void deleteOld() {
    try {
      List<Segment> all = segments();
      for (Segment old : all.subList(Math.min(KEPT, all.size()), all.size())) {
        delete(old.file());
      }
    } catch (DataException e) {
      LOG.debug("old positions stay", e);
    }
  }

  /** Records a step. */
  void append(Step taken) {
    step++;
    if (broken) {
      return;
    }
    int count = taken.labels().length;
    long[] cursor = taken.cursor().orElseGet(() -> new long[0]);
    int bytes = 12 + 8 * cursor.length + 12 * count;
    if (record.capacity() < bytes) {
      record = ByteBuffer.allocateDirect(2 * bytes);
    }
    record.clear().putInt(count).putInt(taken.bad());
    record.putInt(taken.cursor().isPresent() ? cursor.length : NO_BATCH);
    for (long each : cursor) {
      record.putLong(each);
    }
    for (int i = 0; i < count; i++) {
      record
          .putFloat(taken.labels()[i])
          .putFloat(taken.predictions()[i])
          .putFloat(taken.previous()[i]);
    }
    record.flip();
    try {
      while (record.hasRemaining()) {
        channel.write(record);
      }
      goodBytes += bytes;
    } catch (IOException e) {
      step--;
      broken(e);
      step++;
    }
  }

  /** Returns true if steps are not recorded, because a file could not be written. Any thread. */
  boolean isBroken() {
    return broken;
  }

  /** Returns what the user must know about the files since the last call. */
  List<String> takeWarnings() {
    List<String> taken = List.copyOf(warnings);
    warnings.clear();
    return taken;
  }

  /**
   * Ends the file before the step that could not be written. Warns at once, then ever less often.
   */
  private void broken(IOException e) {
    broken = true;
    failures++;
    if (channel != null) {
      try {
        channel.truncate(goodBytes);
      } catch (IOException stays) {
        // A reader ignores a record that is not complete.
      }
    }
    if (Long.bitCount(failures) == 1) {
      warnings.add(
          "%s: the positions of the stream cannot be written from step %s on: %s; training goes on, and a resume reads the events since the last position again; make room there"
              .formatted(folder, step, e));
    }
  }

  @Override
  public void close() {
    FileChannel open = channel;
    channel = null;
    try {
      if (open != null) {
        open.close();
      }
    } catch (IOException e) {
      broken(e);
    }
  }

  private record Segment(Path file, long step) {}

  /** Returns the files of this rank, the newest step first. */
  private List<Segment> segments() {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .flatMap(
              file -> {
                Matcher name = names.matcher(file.getFileName().toString());
                return name.matches()
                    ? Stream.of(new Segment(file, Long.parseLong(name.group(1))))
                    : Stream.empty();
              })
          .sorted(Comparator.comparingLong(Segment::step).reversed())
          .toList();
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(folder, e), e);
    }
  }

  private static Optional<Found> read(Segment segment, long before) {
    try {
      Buffer all = Buffer.buffer(Files.readAllBytes(segment.file()));
      int head = all.length() < 4 ? -1 : all.getInt(0);
      if (head < 0 || head > MOST_HEAD_BYTES || 4 + head > all.length()) {
        return Optional.empty();
      }
      JsonObject state = new JsonObject(all.getBuffer(4, 4 + head));
      if (state.getInteger("format", 1) != FORMAT) {
        throw new DataException(
            "%s: has the positions of another version of this program (format %s), expected format %s: resume with that version, or start a new run"
                .formatted(segment.file(), state.getInteger("format", 1), FORMAT));
      }
      List<Step> steps = new ArrayList<>();
      int at = 4 + head;
      while (steps.size() < before - segment.step() && at + 12 <= all.length()) {
        int count = all.getInt(at);
        int length = Math.max(0, all.getInt(at + 8));
        if (count < 0
            || count > MOST_EVENTS
            || length > MOST_CURSOR
            || at + 12 + 8L * length + 12L * count > all.length()) {
          break;
        }
        steps.add(step(all, at));
        at += 12 + 8 * length + 12 * count;
      }
      return Optional.of(new Found(segment.step(), state, steps));
    } catch (IOException | DecodeException e) {
      return Optional.empty();
    }
  }

  private static Step step(Buffer all, int begin) {
    int count = all.getInt(begin);
    int length = all.getInt(begin + 8);
    long[] cursor = new long[Math.max(0, length)];
    int at = begin + 12;
    for (int i = 0; i < cursor.length; i++, at += 8) {
      cursor[i] = all.getLong(at);
    }
    Step found =
        new Step(
            new float[count],
            new float[count],
            new float[count],
            all.getInt(begin + 4),
            length == NO_BATCH ? Optional.empty() : Optional.of(cursor));
    for (int i = 0; i < count; i++, at += 12) {
      found.labels[i] = all.getFloat(at);
      found.predictions[i] = all.getFloat(at + 4);
      found.previous[i] = all.getFloat(at + 8);
    }
    return found;
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new DataException("%s: cannot be deleted: %s".formatted(file, e), e);
    }
  }
}
