package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.BlockChannel.Block;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * A file with the {@linkplain MemberState states} of one member: {@code magic | blocks | manifest |
 * manifest length, CRC-32C, magic}.
 *
 * <p>Blocks are parts as little-endian float32. The manifest is JSON in UTF-8 with the offset, the
 * length and the CRC-32C of each block. It comes last, so that a truncated file has no manifest.
 */
final class CheckpointFile {

  private static final int FORMAT = 2;

  private static final long MAGIC = 0x3154504b43475656L;
  private static final int TRAILER_BYTES = 4 + 4 + 8;

  private CheckpointFile() {}

  /**
   * Writes a new file and forces it to the disk. The memory of each partition's copy is released as
   * soon as it is written, so that the next checkpoint can use it.
   */
  static void write(Path file, ShardCopy copy, WritePace pace) throws IOException {
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      write(new BlockChannel(file, channel, pace), copy);
      channel.force(true);
    }
  }

  /** Writes at the channel's position, which is the start of a file. */
  static void write(BlockChannel blocks, ShardCopy copy) throws IOException {
    blocks.writeAll(BlockChannel.littleEndian(8).putLong(MAGIC).flip());
    List<Manifest.Entry> entries = new ArrayList<>();
    for (PartitionCopy part : copy.partitions()) {
      entries.add(part.write(blocks));
      part.release();
    }
    Manifest manifest =
        new Manifest(copy.job(), copy.shard(), copy.incarnation(), copy.layout(), entries);
    blocks.writeAll(trailer(manifest.toJson().toBuffer().getBytes()));
  }

  /**
   * Reads a file and checks every byte.
   *
   * @throws CheckpointException if the file is truncated or was changed
   * @throws OtherFormatException if another version of this program wrote it
   */
  static ShardSnapshot read(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      BlockChannel blocks = new BlockChannel(file, channel);
      Manifest manifest = manifest(file, blocks);
      List<PartitionSnapshot> parts = new ArrayList<>();
      for (Manifest.Entry entry : manifest.entries()) {
        Map<String, float[]> arrays = new LinkedHashMap<>();
        for (Map.Entry<String, Block> part : entry.parts().entrySet()) {
          arrays.put(part.getKey(), blocks.read(part.getValue()));
        }
        parts.add(entry.head().with(arrays));
      }
      return new ShardSnapshot(
          manifest.job(), manifest.shard(), manifest.incarnation(), manifest.layout(), parts);
    }
  }

  /**
   * Returns the version of a file with one state. Its parts are not read.
   *
   * @throws CheckpointException if there is no whole manifest
   */
  static long version(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return manifest(file, new BlockChannel(file, channel)).entries().get(0).head().version();
    }
  }

  private static Manifest manifest(Path file, BlockChannel blocks) throws IOException {
    long size = blocks.size();
    if (size < 8 + TRAILER_BYTES) {
      throw new CheckpointException(file, "size", size, "at least " + (8 + TRAILER_BYTES));
    }
    require(file, "first 8 bytes", blocks.bytes(0, 8).getLong(), MAGIC);
    ByteBuffer trailer = blocks.bytes(size - TRAILER_BYTES, TRAILER_BYTES);
    int length = trailer.getInt();
    int crc = trailer.getInt();
    require(file, "last 8 bytes", trailer.getLong(), MAGIC);
    if (length < 0 || length > size - 8 - TRAILER_BYTES) {
      throw new CheckpointException(file, "manifest length", length, "less than the file's");
    }
    ByteBuffer text = blocks.bytes(size - TRAILER_BYTES - length, length);
    require(file, "CRC-32C of the manifest", crc(text.duplicate()), crc);
    return parsed(file, text.array());
  }

  private static Manifest parsed(Path file, byte[] text) throws IOException {
    try {
      JsonObject json = new JsonObject(Buffer.buffer(text));
      int format = json.getInteger("format");
      if (format != FORMAT) {
        throw new OtherFormatException(file, format);
      }
      return Manifest.fromJson(json);
    } catch (RuntimeException e) {
      throw new CheckpointException(file, "the manifest", e, "that of format " + FORMAT);
    }
  }

  private static ByteBuffer trailer(byte[] manifest) {
    return BlockChannel.littleEndian(manifest.length + TRAILER_BYTES)
        .put(manifest)
        .putInt(manifest.length)
        .putInt(crc(ByteBuffer.wrap(manifest)))
        .putLong(MAGIC)
        .flip();
  }

  private static void require(Path file, String what, long found, long expected)
      throws CheckpointException {
    if (found != expected) {
      throw new CheckpointException(
          file, what, Long.toHexString(found), Long.toHexString(expected));
    }
  }

  private static int crc(ByteBuffer bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
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

  /**
   * The table of contents at the end of a checkpoint: everything but the arrays, and their
   * positions.
   *
   * @param job hash of the job's name
   * @param shard the shard
   * @param incarnation incarnation of the server that wrote the file
   * @param layout hash of the parameter layout
   * @param entries one per partition, by index
   */
  record Manifest(long job, int shard, int incarnation, long layout, List<Entry> entries) {

    /** One state; its parts are blocks of the file, by name. */
    record Entry(PartitionHead head, Map<String, Block> parts) {}

    JsonObject toJson() {
      JsonArray partitions = new JsonArray();
      entries.forEach(entry -> partitions.add(json(entry)));
      return new JsonObject()
          .put("format", FORMAT)
          .put("job", Long.toHexString(job))
          .put("shard", shard)
          .put("incarnation", incarnation)
          .put("layout", Long.toHexString(layout))
          .put("partitions", partitions);
    }

    static Manifest fromJson(JsonObject json) {
      return new Manifest(
          Long.parseUnsignedLong(json.getString("job"), 16),
          json.getInteger("shard"),
          json.getInteger("incarnation"),
          Long.parseUnsignedLong(json.getString("layout"), 16),
          json.getJsonArray("partitions").stream()
              .map(JsonObject.class::cast)
              .map(Manifest::entry)
              .toList());
    }

    private static JsonObject json(Entry entry) {
      PartitionHead head = entry.head();
      JsonArray window = new JsonArray();
      JsonObject parts = new JsonObject();
      entry.parts().forEach((name, block) -> parts.put(name, block.toJson()));
      head.window().forEach(w -> window.add(JsonArray.of(w.worker(), w.incarnation(), w.step())));
      return new JsonObject()
          .put("index", head.index())
          .put("first", head.first())
          .put("version", head.version())
          .put("samples", head.samples())
          .put("parts", parts)
          .put("window", window)
          .put("ledger", head.ledger().toJson());
    }

    private static Entry entry(JsonObject json) {
      List<DuplicateWindow.Entry> window =
          json.getJsonArray("window").stream()
              .map(JsonArray.class::cast)
              .map(w -> new DuplicateWindow.Entry(w.getInteger(0), w.getInteger(1), w.getLong(2)))
              .toList();
      PartitionHead head =
          new PartitionHead(
              json.getInteger("index"),
              json.getInteger("first"),
              json.getLong("version"),
              json.getDouble("samples"),
              window,
              LedgerSnapshot.fromJson(json.getJsonObject("ledger")));
      JsonObject named = json.getJsonObject("parts");
      Map<String, Block> parts = new LinkedHashMap<>();
      named
          .fieldNames()
          .forEach(name -> parts.put(name, Block.fromJson(named.getJsonObject(name))));
      return new Entry(head, parts);
    }
  }
}
