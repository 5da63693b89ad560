package io.vertigrad.internal.transport;

import io.vertigrad.internal.security.RandomBytes;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates and opens memory segments that processes of one host share, as files in an in-memory
 * folder. Any thread may use it; work that blocks for some milliseconds belongs in {@link
 * #blocking}.
 *
 * <p>A segment's file is filled with zeros before it is mapped. A full folder then fails here; a
 * mapping of a sparse file would fail in the middle of a frame. The size of a file never changes. A
 * file has a name only until the peer has mapped it. A process that is killed before that leaves
 * the file behind, and the next process to start removes it.
 */
final class SharedMemory {

  private static final Logger LOG = LoggerFactory.getLogger(SharedMemory.class);
  private static final Cleaner UNMAPPED = Cleaner.create();
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
  private static final Path PIDS = Path.of("/proc/self/ns/pid");
  private static final String PREFIX = "vertigrad-";
  private static final int RANDOM_BYTES = 16;
  private static final int ZERO_BYTES = 1 << 20;

  /** A file has its name for milliseconds; a named file of this age was left behind. */
  private static final long OLD_SECONDS = 600;

  /**
   * The parts of a name: namespace of process ids, process id, start time of the process, random
   * digits.
   */
  private static final Pattern NAME =
      Pattern.compile(PREFIX + "(\\d{1,20})-(\\d{1,10})-(\\d{1,19})-[0-9a-f]{32}");

  private final Vertx vertx;
  private final Path folder;
  private final SegmentLayout layout;
  private final long mostBytes;
  private final AtomicLong usedBytes = new AtomicLong();
  private final LongAdder payloads = new LongAdder();
  private final String host;
  private final String ownPrefix;

  /**
   * Creates the shared memory of a process in a folder.
   *
   * @param layout layout of the segments that this process owns
   * @param mostBytes most bytes of all segments together
   */
  SharedMemory(Vertx vertx, Path folder, SegmentLayout layout, long mostBytes) {
    this.vertx = vertx;
    this.folder = folder;
    this.layout = layout;
    this.mostBytes = mostBytes;
    this.host = hostId();
    ProcessHandle self = ProcessHandle.current();
    this.ownPrefix = "%s%s-%s-%s-".formatted(PREFIX, namespace(), self.pid(), start(self));
  }

  /**
   * Returns the boot id of the running kernel, which no other host has. Processes with different
   * ids do not try to share memory. Empty if the system does not report one.
   */
  String host() {
    return host;
  }

  /** Returns the number of payloads that went through segments of this process. */
  long payloads() {
    return payloads.sum();
  }

  /** Counts a payload. */
  void countPayload() {
    payloads.increment();
  }

  /** Runs blocking work on a worker thread of Vert.x. */
  <T> Future<T> blocking(Callable<T> work) {
    return vertx.executeBlocking(work, false);
  }

  /**
   * Creates a segment.
   *
   * @throws IOException when there is no room; the message says what to do
   */
  OwnedSegment create() throws IOException {
    long bytes = layout.bytes();
    if (usedBytes.addAndGet(bytes) > mostBytes) {
      usedBytes.addAndGet(-bytes);
      throw new IOException(
          "exchange.sharedMebibytes allows this process %s MiB, which are taken"
              .formatted(mostBytes >> 20));
    }
    boolean made = false;
    try {
      OwnedSegment segment = createAt(folder.resolve(ownPrefix + randomDigits()), bytes);
      made = true;
      return segment;
    } finally {
      if (!made) {
        usedBytes.addAndGet(-bytes);
      }
    }
  }

  /**
   * Opens a segment of another process of this host.
   *
   * @throws IOException when there is no segment of that name and size
   */
  PeerSegment open(String name, SegmentLayout of) throws IOException {
    if (!NAME.matcher(name).matches()) {
      throw new IOException("\"%s\" is no name of a segment".formatted(name));
    }
    Path file = folder.resolve(name);
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
      if (channel.size() != of.bytes()) {
        throw new IOException(
            "%s has %s bytes, expected %s".formatted(file, channel.size(), of.bytes()));
      }
      return new PeerSegment(channel.map(MapMode.READ_WRITE, 0, of.bytes()).load(), of);
    } catch (NoSuchFileException nowhere) {
      throw new IOException(
          "there is no %s: do both processes have the same %s?".formatted(file, folder), nowhere);
    }
  }

  /** Removes the files of processes that ended before their peers had mapped them. */
  void removeLeftovers() {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, PREFIX + "*")) {
      for (Path file : files) {
        Matcher name = NAME.matcher(file.getFileName().toString());
        if (name.matches() && isLeftover(file, name)) {
          Files.deleteIfExists(file);
          LOG.info("removed {}, which a process left behind that was killed", file);
        }
      }
    } catch (IOException unreadable) {
      LOG.debug("{}: leftovers cannot be removed", folder, unreadable);
    }
  }

  private OwnedSegment createAt(Path file, long bytes) throws IOException {
    // Uses at most half of what is left, because other programs need such memory, too.
    FileStore store = Files.getFileStore(folder);
    if (store.getUsableSpace() / 2 < bytes) {
      throw new IOException(
          "%s has %s MiB left, expected twice the %s MiB of a segment (docker run --shm-size)"
              .formatted(folder, store.getUsableSpace() >> 20, bytes >> 20));
    }
    boolean made = false;
    try (FileChannel channel =
        FileChannel.open(
            file,
            Set.of(
                StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
      ByteBuffer zeros = ByteBuffer.allocateDirect(ZERO_BYTES);
      for (long left = bytes; left > 0; ) {
        left -= channel.write(zeros.clear().limit((int) Math.min(ZERO_BYTES, left)));
      }
      MappedByteBuffer memory = channel.map(MapMode.READ_WRITE, 0, bytes).load();
      UNMAPPED.register(memory, () -> usedBytes.addAndGet(-bytes));
      made = true;
      return new OwnedSegment(file, memory, layout);
    } finally {
      if (!made) {
        Files.deleteIfExists(file);
      }
    }
  }

  private boolean isLeftover(Path file, Matcher name) throws IOException {
    Instant old = Instant.now().minusSeconds(OLD_SECONDS);
    if (Files.getLastModifiedTime(file, LinkOption.NOFOLLOW_LINKS).toInstant().isBefore(old)) {
      return true;
    }
    // In another namespace the same process id is another process.
    return name.group(1).equals(namespace())
        && ProcessHandle.of(Long.parseLong(name.group(2)))
            .filter(process -> start(process) == Long.parseLong(name.group(3)))
            .isEmpty();
  }

  private static String randomDigits() {
    return HexFormat.of().formatHex(RandomBytes.of(RANDOM_BYTES));
  }

  private static long start(ProcessHandle process) {
    return process.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
  }

  /** Returns the number in {@code pid:[4026531836]}. */
  private static String namespace() {
    try {
      String digits = Files.readSymbolicLink(PIDS).toString().replaceAll("\\D", "");
      return digits.isEmpty() ? "0" : digits;
    } catch (IOException | UnsupportedOperationException unknown) {
      return "0";
    }
  }

  private static String hostId() {
    try {
      return Files.readString(BOOT).strip();
    } catch (IOException unknown) {
      return "";
    }
  }

  @Override
  public String toString() {
    return folder.toString();
  }
}
