package io.vertigrad.engine.pytorch.graph;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckedZipTest {

  private static final byte[] ONE = "first entry".getBytes(StandardCharsets.UTF_8);
  private static final byte[] TWO = new byte[100_000];
  private static final int CENTRAL = 0x02014b50;
  private static final int LOCAL = 0x04034b50;

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
  void shouldReadEntries(int method) throws IOException {
    Path file = write(Map.of("a/", new byte[0]), ZipEntry.STORED);
    assertEquals(List.of(), open(file, CheckedZip::names));

    open(
        write(two(), method),
        zip -> {
          assertEquals(List.of("one", "two"), zip.names());
          assertTrue(zip.has("two"));
          assertEquals(100_000, zip.size("two"));
          assertArrayEquals(ONE, zip.read("one", 11));
          assertArrayEquals(new byte[3], zip.check("two", 3));
          return null;
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
  void shouldReadAZipInAZip(int method) throws IOException {
    Path inner = write(two(), ZipEntry.DEFLATED);
    Path file = write(Map.of("in.zip", Files.readAllBytes(inner)), method);

    assertArrayEquals(ONE, open(file, zip -> zip.nested("in.zip").read("one", 20)));
    Path text = write(Map.of("in.zip", TWO), method);
    assertRefused(text, "in.zip is damaged or was cut short", zip -> zip.nested("in.zip"));
  }

  @Test
  void shouldReadAFileWithLongNumbers() throws IOException {
    // PyTorch writes them for every entry, however short.
    assertEquals(
        List.of("model"),
        open(
            ArchiveFixture.path("lstm.pt2"),
            zip ->
                zip.names().stream()
                    .filter(n -> n.endsWith("model.json"))
                    .map(n -> "model")
                    .toList()));
  }

  @Test
  void shouldRefuseAnEntryWhenItIsLongerThanAllowed() throws IOException {
    assertRefused(
        write(two(), ZipEntry.STORED),
        "has two of 100,000 bytes, expected at most 99,999",
        zip -> zip.read("two", 99_999));
  }

  @ParameterizedTest
  @ValueSource(strings = {"../x", "a/../../x", "/etc/x", "C:/x", "a\\x", "..", "a\nb"})
  void shouldRefuseANameWhenItLeadsOutOfTheArchive(String name) throws IOException {
    assertRefused(write(Map.of(name, ONE), ZipEntry.STORED), "expected a path within the archive");
  }

  @Test
  void shouldRefuseTwoEntriesWhenTheyHaveOneName() throws IOException {
    byte[] bytes = Files.readAllBytes(write(two(), ZipEntry.STORED));
    byte[] name = "two".getBytes(StandardCharsets.UTF_8);
    for (int at = 0; at < bytes.length - 3; at++) {
      if (bytes[at] == 't' && bytes[at + 1] == 'w' && bytes[at + 2] == 'o') {
        System.arraycopy("one".getBytes(StandardCharsets.UTF_8), 0, bytes, at, name.length);
      }
    }
    assertRefused(bytes, "has two entries one, expected one");
  }

  @Test
  void shouldRefuseCompressedEntriesWhenTheyGrowTooMuch() throws IOException {
    byte[] bytes = Files.readAllBytes(write(two(), ZipEntry.DEFLATED));
    ByteBuffer bomb = ByteBuffer.wrap(bytes.clone()).order(ByteOrder.LITTLE_ENDIAN);
    bomb.putInt(central(bomb, 1) + 24, Integer.MAX_VALUE);
    assertRefused(bomb.array(), "has compressed entries that grow to more than 67,");

    ByteBuffer small = ByteBuffer.wrap(bytes.clone()).order(ByteOrder.LITTLE_ENDIAN);
    small.putInt(central(small, 1) + 24, 500);
    assertRefused(
        small.array(),
        "is damaged: two has more than 501 bytes, expected 500",
        zip -> zip.check("two", 0));
    small.putInt(central(small, 1) + 24, 100_001);
    assertRefused(
        small.array(), "two has only 100000 bytes, expected 100001", zip -> zip.check("two", 0));
  }

  @Test
  void shouldRefuseEntriesWhenTheyOverlap() throws IOException {
    ByteBuffer bytes = zip(ZipEntry.STORED);
    // The first entry reaches into the second.
    bytes.putInt(central(bytes, 0) + 20, 40).putInt(central(bytes, 0) + 24, 40);

    assertRefused(bytes.array(), "is damaged: one and two overlap");
  }

  @Test
  void shouldRefuseAnEntryWhenItIsEncryptedOrOfAnotherMethod() throws IOException {
    ByteBuffer bytes = zip(ZipEntry.STORED);
    bytes.putShort(central(bytes, 0) + 8, (short) 1);
    assertRefused(bytes.array(), "has one encrypted");

    bytes = zip(ZipEntry.STORED);
    bytes.putShort(central(bytes, 0) + 10, (short) 14);
    assertRefused(bytes.array(), "has one compressed by method 14, expected none or deflate");
  }

  @Test
  void shouldRefuseADirectoryWhenItsNumbersLie() throws IOException {
    int[] places = {20, 24, 28, 30, 32, 42};
    for (int place : places) {
      ByteBuffer bytes = zip(ZipEntry.STORED);
      bytes.putShort(central(bytes, 0) + place, (short) 0x7ff0);
      assertRefused(bytes.array(), "is damaged");
      bytes.putShort(central(bytes, 0) + place, (short) 0xffff);
      bytes.putShort(central(bytes, 0) + place + 2, (short) 0xffff);
      assertRefused(bytes.array(), "is damaged");
    }
    for (int fromEnd = 1; fromEnd <= 12; fromEnd++) {
      ByteBuffer bytes = zip(ZipEntry.STORED);
      bytes.put(bytes.capacity() - fromEnd, (byte) 0x7f);
      assertRefused(bytes.array(), "is damaged or was cut short (");
    }
  }

  @Test
  void shouldRefuseAnEntryWhenItsHeaderHasAnotherName() throws IOException {
    ByteBuffer bytes = zip(ZipEntry.STORED);
    assertEquals(LOCAL, bytes.getInt(0));
    bytes.put(30, (byte) 'x');

    assertRefused(bytes.array(), "is damaged or was cut short (one is not at 0)");
  }

  @Test
  void shouldRefuseAnEntryWhenItsDataAreNotCompressed() throws IOException {
    ByteBuffer bytes = zip(ZipEntry.DEFLATED);
    bytes.put(33, (byte) 0xff);

    assertRefused(bytes.array(), "is damaged or was cut short (one: ", zip -> zip.check("one", 0));
  }

  private static Map<String, byte[]> two() {
    Map<String, byte[]> entries = new LinkedHashMap<>();
    entries.put("one", ONE);
    entries.put("two", TWO);
    return entries;
  }

  private ByteBuffer zip(int method) throws IOException {
    return ByteBuffer.wrap(Files.readAllBytes(write(two(), method))).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the position of an entry in the directory. */
  private static int central(ByteBuffer bytes, int index) {
    int at = bytes.getInt(bytes.capacity() - 6);
    for (int i = 0; i < index; i++) {
      at += 46 + bytes.getShort(at + 28) + bytes.getShort(at + 30) + bytes.getShort(at + 32);
    }
    assertEquals(CENTRAL, bytes.getInt(at));
    return at;
  }

  private Path write(Map<String, byte[]> entries, int method) throws IOException {
    return ArchiveFixture.write(folder.resolve("a.zip"), entries, method);
  }

  private void assertRefused(byte[] bytes, String expected) throws IOException {
    assertRefused(bytes, expected, zip -> null);
  }

  private void assertRefused(byte[] bytes, String expected, CheckedZip.Reader<?> reader)
      throws IOException {
    assertRefused(Files.write(folder.resolve("a.zip"), bytes), expected, reader);
  }

  private static void assertRefused(Path file, String expected) {
    assertRefused(file, expected, zip -> null);
  }

  private static void assertRefused(Path file, String expected, CheckedZip.Reader<?> reader) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> open(file, reader)).getMessage();
    assertTrue(found.startsWith("model " + file + ": ") && found.contains(expected), found);
    assertEquals(1, found.lines().count(), found);
  }

  private static <T> T open(Path file, CheckedZip.Reader<T> reader) {
    return CheckedZip.open(file, "a zip file", "zip it", reader);
  }
}
