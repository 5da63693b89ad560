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
 * A model's lease on a GPU of this machine, from its creation to its end. The next model gets the
 * GPU with the fewest leases, counted over all of the user's processes.
 *
 * <p>A lease is a locked file, so the leases of a killed process are released.
 */
final class GpuLease implements AutoCloseable {

  private static final int MOST_PLACES = 1024;

  /**
   * The files that this process has locked. Closing a second channel of such a file would unlock
   * it.
   */
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
   * Takes a lease on the GPU with the fewest models, the first of several.
   *
   * @param folder of the locked files, the same for all processes
   * @param gpus number of GPUs, 1 or more
   * @throws IOException when the folder cannot be written, or every lease is taken
   */
  static GpuLease take(Path folder, int gpus) throws IOException {
    Path all = Files.createDirectories(folder).toRealPath();
    synchronized (OWN) {
      for (int place = 0; place < MOST_PLACES; place++) {
        for (int gpu = 0; gpu < gpus; gpu++) {
          Path file = all.resolve("gpu-%s-%s.lock".formatted(gpu, place));
          FileChannel channel = OWN.contains(file) ? null : locked(file);
          if (channel != null) {
            OWN.add(file);
            return new GpuLease(file, channel, gpu);
          }
        }
      }
    }
    throw new IOException("all %s places of each GPU in %s are taken".formatted(MOST_PLACES, all));
  }

  /** Locks a file and returns it open, or null if another process has it locked. */
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

  /** Returns the GPU's number, from 0. */
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
        // The end of the process releases the lock.
      }
    }
  }
}
