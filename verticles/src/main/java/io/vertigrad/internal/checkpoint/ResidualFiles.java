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
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a rank's steps start with besides the parameters: the residual of its compressed gradients
 * and the state of its own optimizer, by step, on the local disk. The files hold the last two
 * steps, and the last few that follow the servers' checkpoints.
 *
 * <p>The state after a step is written before the first partition of its gradient is sent. Whether
 * or not a server has got the gradient, a replacement finds the state before and after it. Files
 * are not forced to the disk: they survive the process, not the machine. Belongs to the thread that
 * trains.
 *
 * <p>A file is {@code magic | step | job | layout | CRC-32C, elements | little-endian float32}. The
 * header is written last.
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
  private final int keep;
  private final FileChannel[] latest = new FileChannel[LATEST];
  private final BlockChannel[] blocks = new BlockChannel[LATEST];
  private final Deque<Path> kept = new ArrayDeque<>();
  private boolean tookOver;

  /**
   * Creates the files of one rank; none is open yet.
   *
   * @param folder folder of the checkpoints
   * @param job hash of the job's name
   * @param layout hash of the parameter layout
   * @param keep how many steps that follow checkpoints to keep
   */
  public ResidualFiles(Path folder, int rank, long job, long layout, int keep) {
    this.folder = folder;
    this.rank = rank;
    this.job = job;
    this.layout = layout;
    this.keep = keep;
  }

  /**
   * Writes what a step starts with.
   *
   * @param step the step
   * @param state from the buffer's position to its limit
   */
  public void write(long step, FloatBuffer state) throws IOException {
    int slot = (int) (step % LATEST);
    if (latest[slot] == null) {
      takeOver(step);
      Path file = latest(slot);
      latest[slot] = open(file);
      blocks[slot] = new BlockChannel(file, latest[slot]);
    }
    write(latest[slot], blocks[slot], step, state);
  }

  /**
   * Keeps one of the last two steps: servers may go back to it. Deletes the oldest step that was
   * kept, if there are too many.
   */
  public void keep(long step) throws IOException {
    int slot = (int) (step % LATEST);
    if (!holds(latest(slot), step)) {
      return;
    }
    takeOver(step + 1);
    if (latest[slot] != null) {
      latest[slot].close();
      latest[slot] = null;
    }
    Path file = at(step);
    Files.move(latest(slot), file, StandardCopyOption.REPLACE_EXISTING);
    kept.remove(file);
    kept.add(file);
    while (kept.size() > keep) {
      Files.deleteIfExists(kept.remove());
    }
  }

  /**
   * Reads what a step starts with.
   *
   * @return empty if it is not there or not complete
   */
  public Optional<float[]> read(long step, int elements) throws IOException {
    Optional<float[]> newest = read(latest((int) (step % LATEST)), step, elements);
    return newest.isPresent() ? newest : read(at(step), step, elements);
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

  /** Counts the files of a predecessor. Deletes those of this and later steps, to be repeated. */
  private void takeOver(long step) throws IOException {
    if (tookOver) {
      return;
    }
    tookOver = true;
    Files.createDirectories(folder);
    TreeMap<Long, Path> found = new TreeMap<>();
    try (DirectoryStream<Path> files =
        Files.newDirectoryStream(folder, NAME_AT.formatted(rank, "*"))) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        found.put(Long.parseLong(name.substring(name.lastIndexOf('-') + 1)), file);
      }
    }
    for (Path later : found.tailMap(step, true).values()) {
      Files.deleteIfExists(later);
    }
    kept.addAll(found.headMap(step, false).values());
  }

  private void write(FileChannel channel, BlockChannel blocks, long step, FloatBuffer state)
      throws IOException {
    channel.write(BlockChannel.littleEndian(HEAD_BYTES), 0);
    channel.position(HEAD_BYTES);
    Block block = blocks.write(state);
    channel.write(head(step, block), 0);
  }

  private ByteBuffer head(long step, Block block) {
    return BlockChannel.littleEndian(HEAD_BYTES)
        .putLong(MAGIC)
        .putLong(step)
        .putLong(job)
        .putLong(layout)
        .putInt(block.crc32c())
        .putInt(block.length())
        .flip();
  }

  /** Returns whether a file, which this rank or its predecessor wrote, holds a step. */
  private boolean holds(Path file, long step) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return head(new BlockChannel(file, channel), step).isPresent();
    } catch (NoSuchFileException absent) {
      return false;
    }
  }

  /** Returns the rest of the header, if the file holds this step. */
  private Optional<ByteBuffer> head(BlockChannel content, long step) throws IOException {
    if (content.size() < HEAD_BYTES) {
      return Optional.empty();
    }
    ByteBuffer head = content.bytes(0, HEAD_BYTES);
    boolean wanted =
        head.getLong() == MAGIC
            && head.getLong() == step
            && head.getLong() == job
            && head.getLong() == layout;
    return wanted ? Optional.of(head) : Optional.empty();
  }

  private Optional<float[]> read(Path file, long step, int elements) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      BlockChannel content = new BlockChannel(file, channel);
      Optional<ByteBuffer> found = head(content, step);
      if (found.isEmpty()) {
        return Optional.empty();
      }
      ByteBuffer head = found.get();
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

  private Path at(long step) {
    return folder.resolve(NAME_AT.formatted(rank, step));
  }
}
