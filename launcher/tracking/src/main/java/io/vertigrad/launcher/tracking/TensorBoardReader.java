package io.vertigrad.launcher.tracking;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads back the points that a {@link TensorBoardFile} has written. The file of a process that was
 * killed may end within a record; reading ends before a record that is incomplete or damaged.
 */
final class TensorBoardReader {

  private static final int MOST_BYTES = 1 << 24;

  /** Wire types of protocol buffers. */
  private static final int VARINT = 0;

  private static final int EIGHT_BYTES = 1;
  private static final int DELIMITED = 2;
  private static final int FOUR_BYTES = 5;

  private static final int TYPE_BITS = 3;
  private static final int TYPE_MASK = 7;
  private static final int GROUP_BITS = 7;
  private static final int GROUP_MASK = 0x7F;

  private TensorBoardReader() {}

  /** Adds the points of a file to those that were exported. */
  static void read(Path file, ExportedCurves exported) throws IOException {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
      while (true) {
        byte[] length = new byte[Long.BYTES];
        in.readFully(length);
        int lengthSum = Integer.reverseBytes(in.readInt());
        long bytes = little(length).getLong();
        if (lengthSum != TensorBoardFile.masked(length, 0, length.length)
            || bytes < 0
            || bytes > MOST_BYTES) {
          return;
        }
        byte[] event = new byte[(int) bytes];
        in.readFully(event);
        int sum = Integer.reverseBytes(in.readInt());
        if (sum != TensorBoardFile.masked(event, 0, event.length)) {
          return;
        }
        add(little(event), exported);
      }
    } catch (EOFException | BufferUnderflowException end) {
      // The file ends here.
    }
  }

  private static void add(ByteBuffer event, ExportedCurves exported) {
    long step = 0;
    ByteBuffer summary = little(new byte[0]);
    while (event.hasRemaining()) {
      long key = varint(event);
      if (key == key(TensorBoardFile.STEP, VARINT)) {
        step = varint(event);
      } else if (key == key(TensorBoardFile.SUMMARY, DELIMITED)) {
        summary = part(event);
      } else {
        skip(key, event);
      }
    }
    while (summary.hasRemaining()) {
      long key = varint(summary);
      if (key == key(TensorBoardFile.VALUE, DELIMITED)) {
        addValue(part(summary), step, exported);
      } else {
        skip(key, summary);
      }
    }
  }

  private static void addValue(ByteBuffer value, long step, ExportedCurves exported) {
    String curve = "";
    float found = Float.NaN;
    while (value.hasRemaining()) {
      long key = varint(value);
      if (key == key(TensorBoardFile.TAG, DELIMITED)) {
        curve = StandardCharsets.UTF_8.decode(part(value)).toString();
      } else if (key == key(TensorBoardFile.SIMPLE_VALUE, FOUR_BYTES)) {
        found = value.getFloat();
      } else {
        skip(key, value);
      }
    }
    if (!curve.isEmpty() && Float.isFinite(found)) {
      exported.add(curve, step, found);
    }
  }

  private static long key(int field, int type) {
    return (long) field << TYPE_BITS | type;
  }

  private static void skip(long key, ByteBuffer message) {
    switch ((int) (key & TYPE_MASK)) {
      case VARINT -> varint(message);
      case EIGHT_BYTES -> message.getLong();
      case DELIMITED -> part(message);
      case FOUR_BYTES -> message.getInt();
      default -> throw new BufferUnderflowException();
    }
  }

  private static ByteBuffer part(ByteBuffer message) {
    long length = varint(message);
    if (length < 0 || length > message.remaining()) {
      throw new BufferUnderflowException();
    }
    byte[] part = new byte[(int) length];
    message.get(part);
    return little(part);
  }

  private static long varint(ByteBuffer message) {
    long value = 0;
    for (int shift = 0; shift < Long.SIZE; shift += GROUP_BITS) {
      byte next = message.get();
      value |= (long) (next & GROUP_MASK) << shift;
      if (next >= 0) {
        return value;
      }
    }
    throw new BufferUnderflowException();
  }

  private static ByteBuffer little(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
