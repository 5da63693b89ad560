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
 * Holds a run's folder for one coordinator at a time. The operating system lets go of it with the
 * process, however that ends.
 */
public final class RunLock implements AutoCloseable {

  private static final int NUMBER = 32;

  private final FileChannel channel;

  private RunLock(FileChannel channel) {
    this.channel = channel;
  }

  /**
   * Takes it at once.
   *
   * @throws InputException when another process has it
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
        // This very process runs it.
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

  /** Waits until whoever has it has ended; blocks. */
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
      // The process ends, and the lock with it.
    }
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  /** The number of the process can be read by whoever does not get the lock. */
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
