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

/**
 * The positions of one rank in its stream, by step, beside the checkpoints of the run. A
 * replacement of the worker, or a run that is resumed, finds where any recent step begins.
 *
 * <p>A file begins with the state before a step: the source's position, the last labels and the
 * tests so far. Then each step appends what its events were tested with, before its gradient is
 * sent. The position of a later step follows from reading those events again. Files are not forced
 * to the disk: they survive the process, not the machine. Used by one thread.
 */
final class PositionJournal implements AutoCloseable {

  private static final int KEPT = 256;
  private static final int MOST_HEAD_BYTES = 1 << 28;
  private static final int MOST_EVENTS = 1 << 24;

  private final Path folder;
  private final int rank;
  private final Pattern names;
  private FileChannel channel;
  private ByteBuffer record = ByteBuffer.allocateDirect(4096);

  /**
   * The tests of one step.
   *
   * @param labels class or value of each event
   * @param predictions what the model predicted
   * @param previous the label before each event; NaN if none is known
   */
  @SuppressWarnings("ArrayRecordComponent")
  record Step(float[] labels, float[] predictions, float[] previous) {}

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
    this.names = Pattern.compile("stream-%d-(\\d{1,18})\\.positions".formatted(rank));
  }

  /** Returns the newest state that is not after a step, with the steps up to it. */
  Optional<Found> find(long step) {
    for (Segment segment : segments()) {
      if (segment.step() <= step) {
        Optional<Found> found = read(segment, step);
        if (found.isPresent()) {
          return found;
        }
      }
    }
    return Optional.empty();
  }

  /** Deletes the states from a step on, because training goes on there. */
  void deleteFrom(long step) {
    for (Segment segment : segments()) {
      if (segment.step() >= step) {
        delete(segment.file());
      }
    }
  }

  /** Begins a file with the state before a step. */
  void begin(long step, JsonObject state) {
    try {
      close();
      Files.createDirectories(folder);
      Path file = folder.resolve("stream-%d-%d.positions".formatted(rank, step));
      Path part = folder.resolve("stream-%d.positions.part".formatted(rank));
      byte[] head = state.toBuffer().getBytes();
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
      List<Segment> all = segments();
      for (Segment old : all.subList(Math.min(KEPT, all.size()), all.size())) {
        delete(old.file());
      }
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  /** Records a step; no events for a step that had none. */
  void append(float[] labels, float[] predictions, float[] previous) {
    int bytes = 4 + 12 * labels.length;
    if (record.capacity() < bytes) {
      record = ByteBuffer.allocateDirect(2 * bytes);
    }
    record.clear().putInt(labels.length);
    for (int i = 0; i < labels.length; i++) {
      record.putFloat(labels[i]).putFloat(predictions[i]).putFloat(previous[i]);
    }
    record.flip();
    try {
      while (record.hasRemaining()) {
        channel.write(record);
      }
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  @Override
  public void close() {
    try {
      if (channel != null) {
        channel.close();
        channel = null;
      }
    } catch (IOException e) {
      throw unwritable(e);
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

  private static Optional<Found> read(Segment segment, long step) {
    try {
      Buffer all = Buffer.buffer(Files.readAllBytes(segment.file()));
      int head = all.length() < 4 ? -1 : all.getInt(0);
      if (head < 0 || head > MOST_HEAD_BYTES || 4 + head > all.length()) {
        return Optional.empty();
      }
      JsonObject state = new JsonObject(all.getBuffer(4, 4 + head));
      List<Step> steps = new ArrayList<>();
      int at = 4 + head;
      while (steps.size() < step - segment.step() && at + 4 <= all.length()) {
        int count = all.getInt(at);
        if (count < 0 || count > MOST_EVENTS || at + 4 + 12L * count > all.length()) {
          break;
        }
        Step found = new Step(new float[count], new float[count], new float[count]);
        for (int i = 0; i < count; i++) {
          found.labels[i] = all.getFloat(at + 4 + 12 * i);
          found.predictions[i] = all.getFloat(at + 8 + 12 * i);
          found.previous[i] = all.getFloat(at + 12 + 12 * i);
        }
        steps.add(found);
        at += 4 + 12 * count;
      }
      return Optional.of(new Found(segment.step(), state, steps));
    } catch (IOException | DecodeException e) {
      return Optional.empty();
    }
  }

  private static void delete(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new DataException("%s: cannot be deleted: %s".formatted(file, e), e);
    }
  }

  private DataException unwritable(IOException e) {
    return new DataException(
        "%s: the positions of the stream cannot be written: %s; make room there, or set checkpoint.directory"
            .formatted(folder, e),
        e);
  }
}
