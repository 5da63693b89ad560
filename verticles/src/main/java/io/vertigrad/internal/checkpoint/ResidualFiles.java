package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.BlockChannel.Block;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.LongPredicate;

/**
 * The residuals of one rank's compressed gradients, by version, on the local disk. The files hold
 * the last two versions, and the last few versions at which servers write checkpoints.
 *
 * <p>A residual is written before the first partition of its gradient is sent. Whether or not a
 * server has got the gradient, a replacement finds the residual before and after it. Files are not
 * forced to the disk: they survive the process, not the machine. Belongs to the thread that trains.
 *
 * <p>A file is {@code magic | version | job | layout | CRC-32C, elements | little-endian float32}.
 * The header is written last.
 */
public final class ResidualFiles implements AutoCloseable {

  private static final long MAGIC = 0x3153455247475656L;
  private static final int HEAD_BYTES = 8 + 8 + 8 + 8 + 4 + 4;
  private static final int LATEST = 2;
  private static final String NAME_AT = "residual-%s-at-%s";

  private final Path folder;
  private final int rank;
  private final long job;
  private final long layout;
  private final LongPredicate saved;
  private final int keep;
  private final FileChannel[] latest = new FileChannel[LATEST];
  private final BlockChannel[] blocks = new BlockChannel[LATEST];
  private final Deque<Path> kept = new ArrayDeque<>();

  /**
   * Creates the files of one rank; none is open yet.
   *
   * @param folder folder of the checkpoints
   * @param job hash of the job's name
   * @param layout hash of the parameter layout
   * @param saved returns true for versions at which servers write checkpoints
   * @param keep how many of those residuals to keep
   */
  public ResidualFiles(
      Path folder, int rank, long job, long layout, LongPredicate saved, int keep) {
    this.folder = folder;
    this.rank = rank;
    this.job = job;
    this.layout = layout;
    this.saved = saved;
    this.keep = keep;
  }

  /**
   * Writes the residual of a version.
   *
   * @param version version of the parameters at which the next gradient is computed
   * @param residual the residual of every trainable element, from the buffer's position to its
   *     limit
   */
  public void write(long version, FloatBuffer residual) throws IOException {
    int slot = (int) (version % LATEST);
    if (latest[slot] == null) {
      Files.createDirectories(folder);
      takeOver(version);
      Path file = latest(slot);
      latest[slot] = open(file);
      blocks[slot] = new BlockChannel(file, latest[slot]);
    }
    write(latest[slot], blocks[slot], version, residual);
    if (saved.test(version)) {
      Path file = at(version);
      try (FileChannel channel = open(file)) {
        write(channel, blocks[slot].to(file, channel), version, residual);
      }
      kept.remove(file);
      kept.add(file);
      while (kept.size() > keep) {
        Files.deleteIfExists(kept.remove());
      }
    }
  }

  /**
   * Reads the residual of a version.
   *
   * @return empty if it is not there or not complete
   */
  public Optional<float[]> read(long version, int elements) throws IOException {
    Optional<float[]> newest = read(latest((int) (version % LATEST)), version, elements);
    return newest.isPresent() ? newest : read(at(version), version, elements);
  }

  @Override
  public void close() throws IOException {
    for (int slot = 0; slot < LATEST; slot++) {
      if (latest[slot] != null) {
        latest[slot].close();
        latest[slot] = null;
      }
    }
  }

  /** Counts the files of a predecessor. Deletes those of later versions, which are repeated. */
  private void takeOver(long version) throws IOException {
    if (!kept.isEmpty()) {
      return;
    }
    TreeMap<Long, Path> found = new TreeMap<>();
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(folder, NAME_AT.formatted(rank, "*"))) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        found.put(Long.parseLong(name.substring(name.lastIndexOf('-') + 1)), file);
      }
    }
    for (Path later : found.tailMap(version, false).values()) {
      Files.deleteIfExists(later);
    }
    kept.addAll(found.headMap(version, true).values());
  }

  private void write(FileChannel channel, BlockChannel blocks, long version, FloatBuffer residual)
      throws IOException {
    channel.write(BlockChannel.littleEndian(HEAD_BYTES), 0);
    channel.position(HEAD_BYTES);
    Block block = blocks.write(residual);
    channel.write(head(version, block), 0);
  }

  private ByteBuffer head(long version, Block block) {
    return BlockChannel.littleEndian(HEAD_BYTES)
        .putLong(MAGIC)
        .putLong(version)
        .putLong(job)
        .putLong(layout)
        .putInt(block.crc32c())
        .putInt(block.length())
        .flip();
  }

  private Optional<float[]> read(Path file, long version, int elements) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      BlockChannel content = new BlockChannel(file, channel);
      if (channel.size() < HEAD_BYTES) {
        return Optional.empty();
      }
      ByteBuffer head = content.bytes(0, HEAD_BYTES);
      boolean wanted =
          head.getLong() == MAGIC
              && head.getLong() == version
              && head.getLong() == job
              && head.getLong() == layout;
      if (!wanted) {
        return Optional.empty();
      }
      int crc = head.getInt();
      boolean fits = head.getInt() == elements;
      return fits
          ? Optional.of(content.read(new Block(HEAD_BYTES, (long) elements * Float.BYTES, crc)))
          : Optional.empty();
    } catch (NoSuchFileException | CheckpointException absent) {
      return Optional.empty();
    }
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  private Path latest(int slot) {
    return folder.resolve("residual-%d-%s".formatted(rank, slot == 0 ? "even" : "odd"));
  }

  private Path at(long version) {
    return folder.resolve(NAME_AT.formatted(rank, version));
  }
}
