package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.SavedState.Head;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * A file with a {@link Checkpoint}: {@code magic | blocks | manifest | manifest length, CRC-32C,
 * magic}.
 *
 * <p>Blocks are parts as little-endian float32. The manifest is JSON in UTF-8 with the offset, the
 * length and the CRC-32C of each block. It comes last, so that a truncated file has no manifest.
 *
 * <p>Elements pass through a buffer of 1 MiB between memory and the file.
 */
final class CheckpointFile implements AutoCloseable {

  private static final int FORMAT = 3;

  private static final long MAGIC = 0x3154504b43475656L;
  private static final int TRAILER_BYTES = 4 + 4 + 8;
  private static final int BUFFER_ELEMENTS = (1 << 20) / Float.BYTES;

  private final Path file;
  private final FileChannel channel;
  private ByteBuffer buffer = ByteBuffer.allocate(0);

  /** Opens a file. */
  CheckpointFile(Path file, StandardOpenOption... options) throws IOException {
    this.file = file;
    this.channel = FileChannel.open(file, options);
  }

  /**
   * Writes a checkpoint in place of what the file holds. The memory of each state is released as
   * soon as it is written, so that the next checkpoint can use it.
   *
   * @param pace how fast to write
   */
  void write(Checkpoint checkpoint, WritePace pace) throws IOException {
    channel.position(0);
    writeAll(littleEndian(8).putLong(MAGIC).flip());
    JsonArray states = new JsonArray();
    for (SavedState state : checkpoint.states()) {
      JsonObject parts = new JsonObject();
      for (Map.Entry<String, FloatBuffer> part : state.parts().entrySet()) {
        parts.put(part.getKey(), writeBlock(part.getValue(), pace));
      }
      state.release();
      states.add(json(state.head()).put("parts", parts));
    }
    byte[] manifest =
        new JsonObject()
            .put("format", FORMAT)
            .put("job", Long.toHexString(checkpoint.job()))
            .put("shard", checkpoint.rank())
            .put("incarnation", checkpoint.incarnation())
            .put("layout", Long.toHexString(checkpoint.layout()))
            .put("partitions", states)
            .toBuffer()
            .getBytes();
    writeAll(
        littleEndian(manifest.length + TRAILER_BYTES)
            .put(manifest)
            .putInt(manifest.length)
            .putInt(crc(ByteBuffer.wrap(manifest)))
            .putLong(MAGIC)
            .flip());
    channel.truncate(channel.position());
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  /**
   * Reads a file and checks every byte.
   *
   * @throws CheckpointException if the file is truncated or was changed
   * @throws OtherFormatException if another version of this program wrote it
   */
  static Checkpoint read(Path file) throws IOException {
    try (CheckpointFile opened = new CheckpointFile(file, StandardOpenOption.READ)) {
      JsonObject manifest = opened.manifest();
      try {
        List<SavedState> states = new ArrayList<>();
        for (Object state : manifest.getJsonArray("partitions")) {
          states.add(opened.state((JsonObject) state));
        }
        return new Checkpoint(
            Long.parseUnsignedLong(manifest.getString("job"), 16),
            manifest.getInteger("shard"),
            manifest.getInteger("incarnation"),
            Long.parseUnsignedLong(manifest.getString("layout"), 16),
            states);
      } catch (RuntimeException e) {
        throw opened.notOfFormat(e);
      }
    }
  }

  /**
   * Returns the version of a file with one state. Its parts are not read.
   *
   * @throws CheckpointException if there is no whole manifest
   */
  static long version(Path file) throws IOException {
    try (CheckpointFile opened = new CheckpointFile(file, StandardOpenOption.READ)) {
      JsonObject manifest = opened.manifest();
      try {
        return head(manifest.getJsonArray("partitions").getJsonObject(0)).version();
      } catch (RuntimeException e) {
        throw opened.notOfFormat(e);
      }
    }
  }

  private JsonObject manifest() throws IOException {
    long size = channel.size();
    if (size < 8 + TRAILER_BYTES) {
      throw new CheckpointException(file, "size", size, "at least " + (8 + TRAILER_BYTES));
    }
    require("first 8 bytes", bytes(0, 8).getLong(), MAGIC);
    ByteBuffer trailer = bytes(size - TRAILER_BYTES, TRAILER_BYTES);
    int length = trailer.getInt();
    int crc = trailer.getInt();
    require("last 8 bytes", trailer.getLong(), MAGIC);
    if (length < 0 || length > size - 8 - TRAILER_BYTES) {
      throw new CheckpointException(file, "manifest length", length, "less than the file's");
    }
    ByteBuffer text = bytes(size - TRAILER_BYTES - length, length);
    require("CRC-32C of the manifest", crc(text.duplicate()), crc);
    try {
      JsonObject json = new JsonObject(Buffer.buffer(text.array()));
      int format = json.getInteger("format");
      if (format != FORMAT) {
        throw new OtherFormatException(file, format);
      }
      return json;
    } catch (RuntimeException e) {
      throw notOfFormat(e);
    }
  }

  private CheckpointException notOfFormat(RuntimeException e) {
    return new CheckpointException(file, "the manifest", e, "that of format " + FORMAT);
  }

  private void require(String what, long found, long expected) throws CheckpointException {
    if (found != expected) {
      throw new CheckpointException(
          file, what, Long.toHexString(found), Long.toHexString(expected));
    }
  }

  private static JsonObject json(Head head) {
    return new JsonObject()
        .put("index", head.index())
        .put("first", head.first())
        .put("version", head.version())
        .put("samples", head.samples())
        .put("ledger", head.ledger().toJson());
  }

  private static Head head(JsonObject json) {
    return new Head(
        json.getInteger("index"),
        json.getInteger("first"),
        json.getLong("version"),
        json.getDouble("samples"),
        LedgerSnapshot.fromJson(json.getJsonObject("ledger")));
  }

  private SavedState state(JsonObject json) throws IOException {
    JsonObject named = json.getJsonObject("parts");
    Map<String, float[]> parts = new LinkedHashMap<>();
    for (String name : named.fieldNames()) {
      parts.put(name, readBlock(named.getJsonObject(name)));
    }
    return SavedState.of(head(json), parts);
  }

  /** Appends the elements from a buffer's position to its limit. Returns where they are. */
  private JsonObject writeBlock(FloatBuffer values, WritePace pace) throws IOException {
    long offset = channel.position();
    CRC32C crc = new CRC32C();
    int length = values.remaining();
    for (int first = 0; first < length; first += BUFFER_ELEMENTS) {
      int count = Math.min(BUFFER_ELEMENTS, length - first);
      pace.writing(count * Float.BYTES);
      provide(count * Float.BYTES);
      buffer.asFloatBuffer().put(values.slice(values.position() + first, count));
      crc.update(buffer.duplicate());
      writeAll(buffer);
    }
    return new JsonObject()
        .put("offset", offset)
        .put("bytes", (long) length * Float.BYTES)
        .put("crc32c", (int) crc.getValue());
  }

  /** Reads the elements of a block and checks their checksum. */
  private float[] readBlock(JsonObject block) throws IOException {
    long offset = block.getLong("offset");
    long bytes = block.getLong("bytes");
    int expected = block.getInteger("crc32c");
    if (offset < 0 || bytes < 0 || bytes > channel.size() - offset) {
      throw new CheckpointException(file, "block", block, "within " + channel.size() + " bytes");
    }
    float[] values = new float[Math.toIntExact(bytes / Float.BYTES)];
    CRC32C crc = new CRC32C();
    for (int first = 0; first < values.length; first += BUFFER_ELEMENTS) {
      int count = Math.min(BUFFER_ELEMENTS, values.length - first);
      provide(count * Float.BYTES);
      readAll(buffer, offset + (long) first * Float.BYTES);
      crc.update(buffer.duplicate());
      buffer.asFloatBuffer().get(values, first, count);
    }
    if ((int) crc.getValue() != expected) {
      throw new CheckpointException(
          file, "CRC-32C at byte " + offset, (int) crc.getValue(), expected);
    }
    return values;
  }

  /** Reads a few bytes into a new buffer. */
  private ByteBuffer bytes(long offset, int count) throws IOException {
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

  private void writeAll(ByteBuffer bytes) throws IOException {
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

  private static ByteBuffer littleEndian(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static int crc(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }

  /** A file that is not a complete, intact checkpoint. The message names the file and the place. */
  static final class CheckpointException extends IOException {

    private static final long serialVersionUID = 1;

    CheckpointException(Path file, String what, Object found, Object expected) {
      super("%s: %s is %s, expected %s".formatted(file, what, found, expected));
    }
  }

  /** A whole file that another version of this program wrote: it is not skipped as damage is. */
  static final class OtherFormatException extends IOException {

    private static final long serialVersionUID = 1;

    private OtherFormatException(Path file, int found) {
      super(
          ("%s: format is %s, expected %s: another version of Vertigrad wrote this checkpoint;"
                  + " resume its run with that version, or start a new run")
              .formatted(file, found, FORMAT));
    }
  }
}
