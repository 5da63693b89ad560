package io.vertigrad.launcher.run;

import io.vertigrad.launcher.job.InputException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks a run's folder for one coordinator at a time. The operating system releases the lock when
 * the process ends, in whatever way. The first line of the locked file is the process id, the
 * second one the address of the run's page.
 */
public final class RunLock implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(RunLock.class);

  /** Place of the locked byte: far behind the text, which other processes read. */
  private static final long PLACE = Long.MAX_VALUE - 1;

  private static final int TEXT_BYTES = 256;
  private static final Pattern PAGE = Pattern.compile("http://[0-9A-Za-z.:\\[\\]-]+/");

  /** How often a free lock is tried: a list of runs may look at it at that moment. */
  private static final int ATTEMPTS = 3;

  private static final long ATTEMPT_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final FileChannel channel;

  /**
   * The process that holds a lock.
   *
   * @param process its id
   * @param page address of the run's page, without a token; empty when there is none
   */
  public record Holder(String process, Optional<String> page) {}

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
        for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
          if (channel.tryLock(PLACE, 1, false) != null) {
            return held(channel);
          }
          LockSupport.parkNanos(ATTEMPT_NANOS);
        }
      } catch (OverlappingFileLockException here) {
        // This process itself holds the lock.
      }
      Holder holder = holder(channel);
      channel.close();
      throw new InputException(
          "%s: process %s runs it, expected a run that nobody runs; end that one first"
              .formatted(run.path(), holder.process()));
    } catch (IOException e) {
      throw new InputException("%s: cannot be locked: %s".formatted(run.lock(), e.getMessage()), e);
    }
  }

  /** Waits until the holder has ended, then takes the lock; blocks. */
  public static RunLock await(RunDirectory run) {
    try {
      FileChannel channel = open(run.lock());
      channel.lock(PLACE, 1, false);
      return held(channel);
    } catch (IOException e) {
      throw new InputException("%s: cannot be locked: %s".formatted(run.lock(), e.getMessage()), e);
    }
  }

  /**
   * Returns the process that holds the lock of a run; empty when none does. Makes no file, and
   * shares the lock for some microseconds at most. A process that holds the lock must not ask: on
   * some systems that releases it.
   */
  public static Optional<Holder> look(RunDirectory run) {
    if (!Files.isRegularFile(run.lock())) {
      return Optional.empty();
    }
    try (FileChannel channel = FileChannel.open(run.lock(), StandardOpenOption.READ)) {
      return isFree(channel) ? Optional.empty() : Optional.of(holder(channel));
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static boolean isFree(FileChannel channel) throws IOException {
    try {
      return channel.tryLock(PLACE, 1, true) != null;
    } catch (OverlappingFileLockException here) {
      return false;
    }
  }

  /** Writes where the run's page is, for those who list runs. */
  public void show(String page) {
    try {
      write(channel, page + "\n");
    } catch (IOException e) {
      LOG.warn("a list of runs will not find the page {}: {}", page, e.toString());
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
    channel.truncate(0);
    write(channel, "");
    return new RunLock(channel);
  }

  private static void write(FileChannel channel, String more) throws IOException {
    String text = ProcessHandle.current().pid() + "\n" + more;
    channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
  }

  private static Holder holder(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(TEXT_BYTES);
    channel.read(bytes, 0);
    String[] lines = StandardCharsets.US_ASCII.decode(bytes.flip()).toString().split("\n");
    return new Holder(
        lines[0].strip(),
        Arrays.stream(lines).skip(1).filter(line -> PAGE.matcher(line).matches()).findFirst());
  }
}
