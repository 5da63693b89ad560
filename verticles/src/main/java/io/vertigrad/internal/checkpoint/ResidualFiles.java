package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.CheckpointFile.CheckpointException;
import io.vertigrad.internal.checkpoint.SavedState.Head;
import io.vertigrad.internal.checkpoint.SavedState.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a rank's steps start with besides the parameters: the residual of its compressed gradients
 * and the state of its own optimizer, by step, in the folder of the checkpoints. The files hold the
 * last two steps, and the last few that follow the servers' checkpoints.
 *
 * <p>The state after a step is written before the first partition of its gradient is sent. Whether
 * or not a server has got the gradient, a replacement finds the state before and after it. These
 * two files are not forced to the disk: they survive the process, not the machine. Belongs to the
 * thread that trains.
 */
public final class ResidualFiles implements AutoCloseable {

  private static final int LATEST = 2;

  private final CheckpointFolder folder;
  private final int rank;
  private final long job;
  private final long layout;
  private final CheckpointFile[] latest = new CheckpointFile[LATEST];
  private final CopyMemory memory = new CopyMemory();
  private final WritePace withoutPauses = new WritePace(() -> 0);

  /**
   * Creates the files of one rank; none is open yet.
   *
   * @param folder keeps as many steps that follow checkpoints as it keeps checkpoints
   * @param job hash of the job's name
   * @param layout hash of the parameter layout
   */
  public ResidualFiles(CheckpointFolder folder, int rank, long job, long layout) {
    this.folder = folder;
    this.rank = rank;
    this.job = job;
    this.layout = layout;
  }

  /**
   * Continues the files of a predecessor from this step, and deletes those of later steps, which
   * are repeated. {@linkplain #keep Keeps} the step before: the predecessor may have missed the
   * answer that marks it.
   */
  public void continueFrom(long step) throws IOException {
    for (Path later : kept().tailMap(step, false).values()) {
      Files.deleteIfExists(later);
    }
    if (step > 0) {
      keep(step - 1);
    }
  }

  /**
   * Writes what a step starts with.
   *
   * @param step the step
   * @param parts must not change meanwhile
   */
  public void write(long step, List<Part> parts) throws IOException {
    int slot = (int) (step % LATEST);
    if (latest[slot] == null) {
      Path file = latest(slot);
      Files.createDirectories(file.getParent());
      latest[slot] = new CheckpointFile(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }
    SavedState state = SavedState.begin(new Head(step, 0), parts, memory);
    try {
      latest[slot].write(new Checkpoint(job, rank, 0, layout, List.of(state)), withoutPauses);
    } finally {
      state.release();
    }
  }

  /**
   * Keeps one of the last two steps: servers may go back to it. Deletes the oldest steps that were
   * kept, if there are too many.
   */
  public void keep(long step) throws IOException {
    int slot = (int) (step % LATEST);
    if (!holds(latest(slot), step)) {
      return;
    }
    close(slot);
    folder.publish(latest(slot), at(step));
    NavigableMap<Long, Path> kept = kept();
    while (kept.size() > folder.keep()) {
      Files.deleteIfExists(kept.pollFirstEntry().getValue());
    }
  }

  /**
   * Reads what a step starts with.
   *
   * @return empty if it is not there or not complete
   */
  public Optional<SavedState> read(long step) throws IOException {
    Optional<SavedState> newest = read(latest((int) (step % LATEST)), step);
    return newest.isPresent() ? newest : read(at(step), step);
  }

  @Override
  public void close() throws IOException {
    for (int slot = 0; slot < LATEST; slot++) {
      close(slot);
    }
  }

  private void close(int slot) throws IOException {
    if (latest[slot] != null) {
      latest[slot].close();
      latest[slot] = null;
    }
  }

  /** Returns the files that follow checkpoints, by step. */
  private NavigableMap<Long, Path> kept() throws IOException {
    NavigableMap<Long, Path> found = new TreeMap<>();
    String before = at("").getFileName().toString();
    for (Path file : folder.files(before + "*")) {
      found.put(Long.parseLong(file.getFileName().toString().substring(before.length())), file);
    }
    return found;
  }

  /** Returns whether a file, which this rank or its predecessor wrote, holds a step. */
  private static boolean holds(Path file, long step) throws IOException {
    try {
      return CheckpointFile.version(file) == step;
    } catch (NoSuchFileException | CheckpointException absent) {
      return false;
    }
  }

  private Optional<SavedState> read(Path file, long step) throws IOException {
    try {
      Checkpoint found = CheckpointFile.read(file);
      boolean wanted =
          found.job() == job
              && found.rank() == rank
              && found.layout() == layout
              && found.version() == step;
      return wanted ? Optional.of(found.states().get(0)) : Optional.empty();
    } catch (NoSuchFileException | CheckpointException absent) {
      return Optional.empty();
    }
  }

  private Path latest(int slot) {
    return folder.path("residual-%s-%s".formatted(rank, slot == 0 ? "even" : "odd"));
  }

  private Path at(Object step) {
    return folder.path("residual-%s-at-%s".formatted(rank, step));
  }
}
