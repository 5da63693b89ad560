package io.vertigrad.engine.pytorch;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/**
 * A model's place on a GPU of this machine, from its creation to its end: the next one takes the
 * GPU with the fewest, whichever of the user's processes they are in.
 *
 * <p>A place is a locked file, so that the places of a process that was killed are free again.
 */
final class GpuLease implements AutoCloseable {

  private static final int MOST_PLACES = 1024;

  /** Files that this process has locked: closing one of them a second time would unlock it. */
  private static final Set<Path> OWN = new HashSet<>();

  private final Path file;
  private final FileChannel channel;
  private final int gpu;

  private GpuLease(Path file, FileChannel channel, int gpu) {
    this.file = file;
    this.channel = channel;
    this.gpu = gpu;
  }

  /**
   * Takes a place on the GPU with the fewest models, of equal ones the first.
   *
   * @param folder where the locked files are, the same for all processes
   * @param gpus how many there are, 1 or more
   * @throws IOException when the folder cannot be written, or every place is taken
   */
  static GpuLease take(Path folder, int gpus) throws IOException {
    Path all = Files.createDirectories(folder).toRealPath();
    synchronized (OWN) {
      for (int place = 0; place < MOST_PLACES; place++) {
        for (int gpu = 0; gpu < gpus; gpu++) {
          Path file = all.resolve("gpu-%d-%d.lock".formatted(gpu, place));
          FileChannel channel = OWN.contains(file) ? null : locked(file);
          if (channel != null) {
            OWN.add(file);
            return new GpuLease(file, channel, gpu);
          }
        }
      }
    }
    throw new IOException("all %d places of each GPU in %s are taken".formatted(MOST_PLACES, all));
  }

  /** The open file, or null if another process has it locked. */
  private static FileChannel locked(Path file) throws IOException {
    FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    FileLock lock = null;
    try {
      lock = channel.tryLock();
      return lock == null ? null : channel;
    } finally {
      if (lock == null) {
        channel.close();
      }
    }
  }

  /** The GPU's number, from 0. */
  int gpu() {
    return gpu;
  }

  @Override
  public void close() {
    synchronized (OWN) {
      try {
        if (OWN.remove(file)) {
          channel.close();
        }
      } catch (IOException e) {
        // The process's end unlocks it.
      }
    }
  }
}
