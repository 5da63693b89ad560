package io.vertigrad.launcher.tracking;

import io.vertigrad.compute.formats.ProtoMessage;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * Writes points in TensorBoard's format: an event file, which is a sequence of records with
 * checksums. Each record holds a protocol buffer message {@code Event}.
 *
 * <p>A run that is resumed gets another file. It repeats no points, because only some readers of
 * this format drop what a restart repeats.
 *
 * <p>A record is the message's length (eight bytes, little-endian), the masked CRC-32C of the
 * length, the message, and the masked CRC-32C of the message. Each point is flushed, so that it is
 * visible while the run continues.
 */
final class TensorBoardFile implements Tracker {

  private static final int LENGTH_BYTES = 8;
  private static final int MASK_SHIFT = 15;
  private static final int MASK = 0xa282ead8;

  /** Numbers of the fields of {@code Event}, {@code Summary} and {@code Summary.Value}. */
  private static final int WALL_TIME = 1;

  static final int STEP = 2;
  private static final int FILE_VERSION = 3;
  static final int SUMMARY = 5;
  static final int VALUE = 1;
  static final int TAG = 1;
  static final int SIMPLE_VALUE = 2;

  /** With more digits, names would have another order than numbers. */
  private static final int MOST_OF_A_SECOND = 9;

  private static final Pattern NAME =
      Pattern.compile("events\\.out\\.tfevents\\.(\\d{10})\\.vertigrad(\\.\\d+)?");

  private final Path file;
  private final Consumer<String> onProblem;
  private final ExportedCurves exported = new ExportedCurves();
  private OutputStream out;

  /**
   * Creates a file in a run's folder; each coordinator of a run creates another one. TensorBoard
   * reads them in the order of their names, so the new name is the last one, whatever the clock
   * says.
   *
   * @param nowMillis start of the run, part of the file's name
   * @param onProblem called once when no more can be written
   */
  TensorBoardFile(Path folder, long nowMillis, Consumer<String> onProblem) {
    this.onProblem = onProblem;
    long seconds = nowMillis / 1_000;
    try {
      for (Path earlier : earlier(folder)) {
        TensorBoardReader.read(earlier, exported);
        seconds = Math.max(seconds, seconds(earlier));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(folder + ": could not be read: " + e.getMessage(), e);
    }
    file = unused(folder, seconds);
    try {
      out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW);
      ProtoMessage first = new ProtoMessage().real(WALL_TIME, nowMillis / 1e3);
      write(first.text(FILE_VERSION, "brain.Event:2"));
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be opened: " + e.getMessage(), e);
    }
  }

  /** Returns the files of earlier coordinators of the run. */
  private static List<Path> earlier(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> NAME.matcher(file.getFileName().toString()).matches())
          .filter(file -> Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS))
          .toList();
    }
  }

  private static Path unused(Path folder, long seconds) {
    String name = String.format(Locale.ROOT, "events.out.tfevents.%010d.vertigrad", seconds);
    Path unused = folder.resolve(name);
    for (int again = 2; Files.exists(unused) && again <= MOST_OF_A_SECOND; again++) {
      unused = folder.resolve(name + "." + again);
    }
    return Files.exists(unused) ? unused(folder, seconds + 1) : unused;
  }

  private static long seconds(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    return name.matches() ? Long.parseLong(name.group(1)) : 0;
  }

  @Override
  public void add(List<Metric> metrics) {
    if (out == null) {
      return;
    }
    Map<Long, List<Metric>> steps =
        exported.admit(metrics).stream()
            .collect(Collectors.groupingBy(Metric::step, LinkedHashMap::new, Collectors.toList()));
    try {
      for (Map.Entry<Long, List<Metric>> step : steps.entrySet()) {
        write(event(step.getKey(), step.getValue()));
      }
    } catch (IOException e) {
      giveUp(e);
    }
  }

  private static ProtoMessage event(long step, List<Metric> points) {
    ProtoMessage summary = new ProtoMessage();
    for (Metric point : points) {
      summary.message(
          VALUE,
          new ProtoMessage().text(TAG, point.name()).single(SIMPLE_VALUE, (float) point.value()));
    }
    return new ProtoMessage()
        .real(WALL_TIME, points.get(0).timeMillis() / 1e3)
        .integer(STEP, step)
        .message(SUMMARY, summary);
  }

  @Override
  public void end(End how) {
    if (out == null) {
      return;
    }
    try {
      out.close();
      out = null;
    } catch (IOException e) {
      giveUp(e);
    }
  }

  private void write(ProtoMessage event) throws IOException {
    byte[] message = event.toBytes();
    ByteBuffer record =
        ByteBuffer.allocate(LENGTH_BYTES + 2 * Integer.BYTES + message.length)
            .order(ByteOrder.LITTLE_ENDIAN);
    record.putLong(message.length);
    record.putInt(masked(record.array(), 0, LENGTH_BYTES));
    int begin = record.position();
    record.put(message);
    record.putInt(masked(record.array(), begin, message.length));
    out.write(record.array());
  }

  /**
   * Returns the masked checksum, for data that may itself hold checksums: rotated by 15 bits, plus
   * a constant.
   */
  static int masked(byte[] bytes, int offset, int length) {
    CRC32C sum = new CRC32C();
    sum.update(bytes, offset, length);
    return Integer.rotateRight((int) sum.getValue(), MASK_SHIFT) + MASK;
  }

  private void giveUp(IOException why) {
    out = null;
    onProblem.accept(
        "%s: no more can be written: %s; training goes on".formatted(file, why.getMessage()));
  }
}
