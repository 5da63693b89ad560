package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertx.core.Vertx;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests with real processes that are killed, and a real folder without room. */
@Timeout(60)
class KilledOwnerTest {

  private static final SegmentLayout LAYOUT = SegmentOwnerProcess.LAYOUT;

  private final Vertx vertx = Vertx.vertx();
  private final List<Process> owners = new ArrayList<>();
  @TempDir private Path folder;

  @AfterEach
  void close() {
    owners.forEach(Process::destroyForcibly);
    vertx.close();
  }

  @Test
  @Tag("slow")
  void shouldReadAPayloadThatItsOwnerAnnouncedBeforeItWasKilled() throws Exception {
    Process owner = start();
    BufferedReader says = owner.inputReader();
    String name = said(says);
    PeerSegment segment = memory(folder).open(name, LAYOUT);
    Files.delete(folder.resolve(name));
    owner.getOutputStream().write('\n');
    owner.getOutputStream().flush();
    String[] at = said(says).split(" ");
    SlotReference reference =
        new SlotReference(Integer.parseInt(at[0]), Integer.parseInt(at[1]), Long.parseLong(at[2]));

    owner.destroyForcibly().waitFor();

    assertEquals(SegmentOwnerProcess.payload(), segment.payload(reference));
    segment.free(reference);
  }

  @Test
  @Tag("slow")
  void shouldRemoveFilesOfKilledOwnersOnly() throws Exception {
    Process killed = start();
    Process living = start();
    Path left = folder.resolve(said(killed.inputReader()));
    Path kept = folder.resolve(said(living.inputReader()));
    killed.destroyForcibly().waitFor();
    assertTrue(Files.exists(left), "nobody has removed it yet");

    memory(folder).removeLeftovers();

    assertFalse(Files.exists(left));
    assertTrue(Files.exists(kept));
  }

  @Test
  void shouldTakeAtMostHalfOfTheFolderAndLeaveNoFileWhenRefused() throws Exception {
    Path mounted = Files.createDirectory(folder.resolve("short"));
    assumeTrue(run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", mounted.toString()) == 0);
    try {
      SharedMemory memory = memory(mounted);
      List<OwnedSegment> made = new ArrayList<>();

      IOException refused =
          assertThrows(
              IOException.class,
              () -> {
                while (made.size() < 100) {
                  made.add(memory.create());
                }
              });

      assertTrue(refused.getMessage().contains("MiB left"), refused::getMessage);
      assertTrue(!made.isEmpty() && made.size() * LAYOUT.bytes() < 6 << 20, made::toString);
      try (Stream<Path> files = Files.list(mounted)) {
        assertEquals(made.size(), files.count(), "none without memory behind it");
      }
    } finally {
      run("umount", "-l", mounted.toString());
    }
  }

  private static String said(BufferedReader lines) throws IOException {
    String line = lines.readLine();
    while (!line.startsWith(SegmentOwnerProcess.OUTPUT_PREFIX)) {
      line = lines.readLine();
    }
    return line.substring(SegmentOwnerProcess.OUTPUT_PREFIX.length());
  }

  private Process start() throws IOException {
    Process owner =
        new ProcessBuilder(
                ProcessHandle.current().info().command().orElse("java"),
                "-cp",
                System.getProperty("java.class.path"),
                SegmentOwnerProcess.class.getName(),
                folder.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    owners.add(owner);
    return owner;
  }

  private SharedMemory memory(Path at) {
    return new SharedMemory(vertx, at, LAYOUT, 1L << 30);
  }

  private static int run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).start().waitFor();
  }

  /**
   * A process that owns a segment, writes one payload when it is asked to, and then keeps running.
   */
  public static final class SegmentOwnerProcess {

    /** Marks this process's own output lines among its log lines. */
    static final String OUTPUT_PREFIX = "says: ";

    static final SegmentLayout LAYOUT = new SegmentLayout(16);

    private SegmentOwnerProcess() {}

    /** Prints the segment's name and, after a line of input, where the payload is. */
    public static void main(String[] arguments) throws Exception {
      SharedMemory memory =
          new SharedMemory(Vertx.vertx(), Path.of(arguments[0]), LAYOUT, 1L << 30);
      OwnedSegment segment = memory.create();
      System.out.println(OUTPUT_PREFIX + segment.name());
      if (System.in.read() >= 0) {
        SlotReference at = segment.write(1, payload());
        System.out.println(OUTPUT_PREFIX + at.slot() + " " + at.length() + " " + at.generation());
        Thread.sleep(Long.MAX_VALUE);
      }
    }

    /** Returns the payload that it writes. */
    static ByteBuffer payload() {
      ByteBuffer bytes = ByteBuffer.allocate(300_000);
      while (bytes.hasRemaining()) {
        bytes.put((byte) (31 * bytes.position()));
      }
      return bytes.flip();
    }
  }
}
