package io.vertigrad.internal.checkpoint;

import io.vertx.core.json.JsonObject;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** Copies float arrays between memory and a file, with checksums, through a buffer of 1 MiB. */
final class BlockChannel {

  private static final int BUFFER_BYTES = 1 << 20;

  private final Path file;
  private final FileChannel channel;
  private final WritePace pace;
  private ByteBuffer buffer = ByteBuffer.allocate(0);

  BlockChannel(Path file, FileChannel channel) {
    this(file, channel, null);
  }

  /**
   * Creates a channel that writes with pauses.
   *
   * @param pace when to pause; null for no pauses
   */
  BlockChannel(Path file, FileChannel channel, WritePace pace) {
    this.file = file;
    this.channel = channel;
    this.pace = pace;
  }

  long size() throws IOException {
    return channel.size();
  }

  /** Appends the elements from a buffer's position to its limit. Does not move either. */
  Block write(FloatBuffer values) throws IOException {
    long offset = channel.position();
    CRC32C crc = new CRC32C();
    int perBuffer = BUFFER_BYTES / Float.BYTES;
    int length = values.remaining();
    for (int first = 0; first < length; first += perBuffer) {
      int count = Math.min(perBuffer, length - first);
      if (pace != null) {
        pace.writing(count * Float.BYTES);
      }
      provide(count * Float.BYTES);
      buffer.asFloatBuffer().put(values.slice(values.position() + first, count));
      crc.update(buffer.duplicate());
      writeAll(buffer);
    }
    return new Block(offset, (long) length * Float.BYTES, (int) crc.getValue());
  }

  /** Reads an array and checks its checksum. */
  float[] read(Block block) throws IOException {
    if (block.offset() < 0 || block.bytes() < 0 || block.bytes() > size() - block.offset()) {
      throw new CheckpointException(file, "block", block, "within " + size() + " bytes");
    }
    float[] values = new float[block.length()];
    CRC32C crc = new CRC32C();
    int perBuffer = BUFFER_BYTES / Float.BYTES;
    for (int first = 0; first < values.length; first += perBuffer) {
      int count = Math.min(perBuffer, values.length - first);
      provide(count * Float.BYTES);
      readAll(buffer, block.offset() + (long) first * Float.BYTES);
      crc.update(buffer.duplicate());
      buffer.asFloatBuffer().get(values, first, count);
    }
    if ((int) crc.getValue() != block.crc32c()) {
      throw new CheckpointException(
          file, "CRC-32C at byte " + block.offset(), (int) crc.getValue(), block.crc32c());
    }
    return values;
  }

  /** Reads a few bytes into a new buffer. */
  ByteBuffer bytes(long offset, int count) throws IOException {
    ByteBuffer bytes = littleEndian(count);
    readAll(bytes, offset);
    return bytes;
  }

  /** Makes the buffer large enough for this many bytes. It never shrinks. */
  private void provide(int bytes) {
    if (buffer.capacity() < bytes) {
      buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
    buffer.clear().limit(bytes);
  }

  void writeAll(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  private void readAll(ByteBuffer destination, long offset) throws IOException {
    while (destination.hasRemaining()) {
      if (channel.read(destination, offset + destination.position()) < 0) {
        throw new EOFException(file + ": ends at byte " + (offset + destination.position()));
      }
    }
    destination.flip();
  }

  /** Returns a new buffer of little-endian numbers. */
  static ByteBuffer littleEndian(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * The position of an array in a checkpoint file, as little-endian float32.
   *
   * @param offset byte offset from the start of the file
   * @param bytes length in bytes
   * @param crc32c CRC-32C of these bytes
   */
  record Block(long offset, long bytes, int crc32c) {

    JsonObject toJson() {
      return new JsonObject().put("offset", offset).put("bytes", bytes).put("crc32c", crc32c);
    }

    static Block fromJson(JsonObject json) {
      return new Block(json.getLong("offset"), json.getLong("bytes"), json.getInteger("crc32c"));
    }

    /** Returns the number of elements. */
    int length() {
      return Math.toIntExact(bytes / Float.BYTES);
    }
  }
}
