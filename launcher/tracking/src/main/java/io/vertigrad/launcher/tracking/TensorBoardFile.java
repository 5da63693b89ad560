package io.vertigrad.launcher.tracking;

import io.vertigrad.compute.formats.ProtoMessage;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * Writes points in TensorBoard's format: an event file, which is a sequence of records with
 * checksums. Each record holds a protocol buffer message {@code Event}.
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

  private static final int STEP = 2;
  private static final int FILE_VERSION = 3;
  private static final int SUMMARY = 5;
  private static final int VALUE = 1;
  private static final int TAG = 1;
  private static final int SIMPLE_VALUE = 2;

  private final Path file;
  private final Consumer<String> onProblem;
  private OutputStream out;

  /**
   * Creates a file in a run's folder; each coordinator of a run creates another one.
   *
   * @param nowMillis start of the run, part of the file's name
   * @param onProblem called once when no more can be written
   */
  TensorBoardFile(Path folder, long nowMillis, Consumer<String> onProblem) {
    String name =
        String.format(Locale.ROOT, "events.out.tfevents.%010d.vertigrad", nowMillis / 1_000);
    Path free = folder.resolve(name);
    for (int again = 2; Files.exists(free); again++) {
      free = folder.resolve(name + "." + again);
    }
    this.file = free;
    this.onProblem = onProblem;
    try {
      out = Files.newOutputStream(file);
      ProtoMessage first = new ProtoMessage().real(WALL_TIME, nowMillis / 1e3);
      write(first.text(FILE_VERSION, "brain.Event:2"));
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": could not be opened: " + e.getMessage(), e);
    }
  }

  @Override
  public void add(List<Metric> metrics) {
    if (out == null || metrics.isEmpty()) {
      return;
    }
    ProtoMessage summary = new ProtoMessage();
    for (Metric metric : metrics) {
      summary.message(
          VALUE,
          new ProtoMessage().text(TAG, metric.name()).single(SIMPLE_VALUE, (float) metric.value()));
    }
    Metric first = metrics.get(0);
    ProtoMessage event =
        new ProtoMessage()
            .real(WALL_TIME, first.timeMillis() / 1e3)
            .integer(STEP, first.step())
            .message(SUMMARY, summary);
    try {
      write(event);
    } catch (IOException e) {
      giveUp(e);
    }
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
  private static int masked(byte[] bytes, int offset, int length) {
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
