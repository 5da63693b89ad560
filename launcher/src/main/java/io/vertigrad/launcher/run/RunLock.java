package io.vertigrad.launcher.run;

import io.vertigrad.launcher.job.InputException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Locks a run's folder for one coordinator at a time. The operating system releases the lock when
 * the process ends, in whatever way.
 */
public final class RunLock implements AutoCloseable {

  private static final int NUMBER = 32;

  private final FileChannel channel;

  private RunLock(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Takes the lock at once.
   *
   * @throws InputException when another process holds it
   */
  public static RunLock take(RunDirectory run) {
    try {
      FileChannel channel = open(run.lock());
      try {
        FileLock lock = channel.tryLock(Long.MAX_VALUE - 1, 1, false);
        if (lock != null) {
          return held(channel);
        }
      } catch (OverlappingFileLockException here) {
        // This process itself holds the lock.
      }
      String holder = holder(channel);
      channel.close();
      throw new InputException(
          "%s: process %s runs it, expected a run that nobody runs; end that one first"
              .formatted(run.path(), holder));
    } catch (IOException e) {
      throw new InputException("%s: cannot be locked: %s".formatted(run.lock(), e.getMessage()), e);
    }
  }

  /** Waits until the holder has ended, then takes the lock; blocks. */
  public static RunLock await(RunDirectory run) {
    try {
      FileChannel channel = open(run.lock());
      channel.lock(Long.MAX_VALUE - 1, 1, false);
      return held(channel);
    } catch (IOException e) {
      throw new InputException("%s: cannot be locked: %s".formatted(run.lock(), e.getMessage()), e);
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      // The lock is released when the process ends.
    }
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  /**
   * Writes the process id into the file, where a process that does not get the lock can read it.
   */
  private static RunLock held(FileChannel channel) throws IOException {
    String pid = Long.toString(ProcessHandle.current().pid());
    channel.truncate(0);
    channel.write(ByteBuffer.wrap(pid.getBytes(StandardCharsets.US_ASCII)), 0);
    return new RunLock(channel);
  }

  private static String holder(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(NUMBER);
    channel.read(bytes, 0);
    return StandardCharsets.US_ASCII.decode(bytes.flip()).toString().strip();
  }
}
