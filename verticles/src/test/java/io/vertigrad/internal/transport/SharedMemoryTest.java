package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(20)
class SharedMemoryTest {

  private static final SegmentLayout LAYOUT = new SegmentLayout(2);
  private static final JobSecret SECRET = JobSecret.random();

  private final Vertx vertx = Vertx.vertx();
  @TempDir private Path folder;

  @AfterEach
  void close() {
    vertx.close();
  }

  @Test
  void shouldReadAPayloadInPlaceAndFreeTheSlot() throws IOException {
    OwnedSegment own = memory(1 << 30).create();
    PeerSegment peers = memory(0).open(own.name(), LAYOUT);
    ByteBuffer payload = bytes(5, 6, 7);

    SlotReference first = own.write(1, payload);
    SlotReference second = own.write(2, bytes(8));

    assertEquals(3, payload.remaining(), "it should stay where it is");
    assertEquals(bytes(5, 6, 7), peers.payload(first));
    assertEquals(bytes(8), peers.payload(second));
    assertNull(own.write(3, bytes(9)), "both slots are taken");
    peers.free(first);
    SlotReference third = own.write(3, bytes(9));
    assertEquals(first.slot(), third.slot());
    assertNull(peers.payload(first), "it was written over");
    assertEquals(bytes(9), peers.payload(third));
    own.release(2);
    assertEquals(second.slot(), own.write(4, bytes(10)).slot());
  }

  @Test
  void shouldNotReadOutsideTheSlots() throws IOException {
    OwnedSegment own = memory(1 << 30).create();
    PeerSegment peers = memory(0).open(own.name(), LAYOUT);
    SlotReference at = own.write(1, bytes(1, 2, 3));

    assertNull(peers.payload(new SlotReference(2, 1, at.generation())));
    assertNull(peers.payload(new SlotReference(-1, 1, at.generation())));
    assertNull(peers.payload(new SlotReference(0, -1, at.generation())));
    assertNull(peers.payload(new SlotReference(0, (512 << 10) + 1, at.generation())));
    assertNull(peers.payload(new SlotReference(0, 3, at.generation() + 1)));
    assertNotNull(peers.payload(at));
  }

  @Test
  void shouldTakeConsecutiveSlotsThatAreFree() throws IOException {
    SegmentLayout layout = new SegmentLayout(10);
    OwnedSegment own = new SharedMemory(vertx, folder, layout, 1 << 30).create();
    PeerSegment peers = memory(0).open(own.name(), layout);
    Map<SlotReference, ByteBuffer> unread = new HashMap<>();
    Random random = new Random(1);

    for (int i = 1; i < 5_000; i++) {
      ByteBuffer payload = ByteBuffer.allocate(8 + random.nextInt(300_000));
      payload.putInt(0, i).putInt(payload.limit() - 4, i);
      SlotReference at = own.write(i, payload);
      if (at != null) {
        unread.put(at, payload);
      }
      if (at == null || random.nextBoolean()) {
        for (SlotReference one : List.copyOf(unread.keySet())) {
          if (random.nextInt(3) == 0) {
            assertEquals(unread.remove(one), peers.payload(one), "it was written over");
            peers.free(one);
          }
        }
      }
    }
    unread.forEach((one, expected) -> assertEquals(expected, peers.payload(one)));
    unread.keySet().forEach(peers::free);
    assertEquals(0, own.write(9_999, ByteBuffer.allocate(523_264)).slot(), "all are free again");
  }

  @Test
  void shouldProveTheSecretThroughSharedMemory() throws IOException {
    OwnedSegment own = memory(1 << 30).create();
    PeerSegment peers = memory(0).open(own.name(), LAYOUT);

    assertFalse(own.isProved(SECRET), "nobody has written anything");
    peers.prove(JobSecret.random(), own.name());
    assertFalse(own.isProved(SECRET), "another job's");
    peers.prove(SECRET, own.name());

    assertTrue(own.isProved(SECRET));
  }

  @Test
  void shouldBePrivateToItsOwnerAndVanishWhenUnlinked() throws IOException {
    OwnedSegment own = memory(1 << 30).create();
    Path file = files().get(0);

    assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
    assertEquals(LAYOUT.bytes(), Files.size(file));
    assertEquals(
        Files.size(file) / 512, (long) (Integer) blocks(file), "all of it should be there already");
    PeerSegment peers = memory(0).open(own.name(), LAYOUT);
    own.unlink();

    assertEquals(List.of(), files());
    assertEquals(bytes(1), peers.payload(own.write(1, bytes(1))));
  }

  @Test
  void shouldOpenOnlyASegmentOfTheAnnouncedSize() throws IOException {
    Path secret = Files.writeString(folder.resolve("secret"), "x");
    OwnedSegment own = memory(1 << 30).create();
    String link = own.name().substring(0, own.name().length() - 1) + "0";
    if (link.equals(own.name())) {
      link = own.name().substring(0, own.name().length() - 1) + "1";
    }
    Files.createSymbolicLink(folder.resolve(link), secret);
    SharedMemory other = memory(0);

    for (String name : List.of("secret", "../" + folder.getFileName() + "/secret", "", link)) {
      assertThrows(IOException.class, () -> other.open(name, LAYOUT), name);
    }
    IOException size =
        assertThrows(IOException.class, () -> other.open(own.name(), new SegmentLayout(3)));
    assertTrue(size.getMessage().contains("expected"), size::getMessage);
  }

  @Test
  void shouldTakeNoMoreMemoryThanAllowed() throws IOException {
    SharedMemory memory = memory(LAYOUT.bytes() + 1);
    OwnedSegment first = memory.create();

    IOException refused = assertThrows(IOException.class, memory::create);

    assertTrue(refused.getMessage().contains("sharedMebibytes"), refused::getMessage);
    assertEquals(List.of(folder.resolve(first.name())), files());
  }

  @Test
  void shouldReportAMissingFolder() {
    SharedMemory nowhere = new SharedMemory(vertx, folder.resolve("none"), LAYOUT, 1 << 30);

    assertThrows(IOException.class, nowhere::create);
    nowhere.removeLeftovers();
  }

  @Test
  void shouldRemoveOnlyFilesOfKilledProcesses() throws Exception {
    Process gone = new ProcessBuilder("true").start();
    gone.waitFor();
    OwnedSegment own = memory(1 << 30).create();
    String[] parts = own.name().split("-");
    String random = "-0123456789abcdef0123456789abcdef";
    Path ofDead = leave("vertigrad-%s-%d-5%s".formatted(parts[1], gone.pid(), random));
    Path ofSamePid = leave("vertigrad-%s-%s-5%s".formatted(parts[1], parts[2], random));
    Path elsewhere = leave("vertigrad-77-%d-5%s".formatted(gone.pid(), random));
    Path forgotten = leave("vertigrad-78-%d-5%s".formatted(gone.pid(), random));
    Path another = leave("vertigrad-notes");
    Files.setLastModifiedTime(forgotten, FileTime.from(Instant.now().minusSeconds(3_600)));

    memory(0).removeLeftovers();

    assertFalse(Files.exists(ofDead));
    assertFalse(Files.exists(ofSamePid), "the process of that number is another one");
    assertFalse(Files.exists(forgotten));
    assertTrue(Files.exists(elsewhere), "its process may live in another container");
    assertTrue(Files.exists(another));
    assertTrue(Files.exists(folder.resolve(own.name())), "its owner lives");
  }

  private Path leave(String name) throws IOException {
    return Files.createFile(folder.resolve(name));
  }

  private SharedMemory memory(long mostBytes) {
    return new SharedMemory(vertx, folder, LAYOUT, mostBytes);
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  /** Returns the number of allocated blocks of 512 bytes that {@code stat} reports. */
  private static int blocks(Path file) throws IOException {
    Process stat = new ProcessBuilder("stat", "-c", "%b", file.toString()).start();
    return Integer.parseInt(new String(stat.getInputStream().readAllBytes()).strip());
  }

  private static ByteBuffer bytes(int... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length);
    for (int value : values) {
      bytes.put((byte) value);
    }
    return bytes.flip();
  }
}
