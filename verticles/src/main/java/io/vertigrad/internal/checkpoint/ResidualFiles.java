package io.vertigrad.internal.checkpoint;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
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
 */
public final class ResidualFiles implements AutoCloseable {

  private static final int LATEST = 2;
  private static final String NAME_AT = "residual-%s-at-%s";

  private final Path folder;
  private final int rank;
  private final long job;
  private final long layout;
  private final int keep;
  private final FileChannel[] latest = new FileChannel[LATEST];
  private final BlockChannel[] blocks = new BlockChannel[LATEST];
  private final CopyMemory memory = new CopyMemory();
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
   * Continues the files of a predecessor from this step. {@linkplain #keep Keeps} the step before:
   * the predecessor may have missed the answer that marks it.
   */
  public void continueFrom(long step) throws IOException {
    takeOver(step + 1);
    keep(step - 1);
  }

  /**
   * Writes what a step starts with.
   *
   * @param step the step
   * @param state must not change meanwhile
   */
  public void write(long step, MemberState state) throws IOException {
    int slot = (int) (step % LATEST);
    if (latest[slot] == null) {
      takeOver(step);
      Path file = latest(slot);
      latest[slot] = open(file);
      blocks[slot] = new BlockChannel(file, latest[slot]);
    }
    PartitionCopy copy = state.copy(new PartitionHead(step, 0), memory);
    try {
      latest[slot].position(0);
      CheckpointFile.write(blocks[slot], new ShardCopy(job, rank, 0, layout, List.of(copy)));
      latest[slot].truncate(latest[slot].position());
    } finally {
      copy.release();
    }
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
  public Optional<PartitionSnapshot> read(long step) throws IOException {
    Optional<PartitionSnapshot> newest = read(latest((int) (step % LATEST)), step);
    return newest.isPresent() ? newest : read(at(step), step);
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

  /** Returns whether a file, which this rank or its predecessor wrote, holds a step. */
  private static boolean holds(Path file, long step) throws IOException {
    try {
      return CheckpointFile.version(file) == step;
    } catch (NoSuchFileException | CheckpointException absent) {
      return false;
    }
  }

  private Optional<PartitionSnapshot> read(Path file, long step) throws IOException {
    try {
      ShardSnapshot found = CheckpointFile.read(file);
      boolean wanted =
          found.job() == job
              && found.shard() == rank
              && found.layout() == layout
              && found.version() == step;
      return wanted ? Optional.of(found.partitions().get(0)) : Optional.empty();
    } catch (NoSuchFileException | CheckpointException absent) {
      return Optional.empty();
    }
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  private Path latest(int slot) {
    return folder.resolve("residual-%s-%s".formatted(rank, slot == 0 ? "even" : "odd"));
  }

  private Path at(long step) {
    return folder.resolve(NAME_AT.formatted(rank, step));
  }
}
