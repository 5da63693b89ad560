package io.vertigrad.engine.pytorch.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** A {@code .pt2} file whose entries a test changes. Checksums and sizes are right again. */
final class ArchiveFixture {

  private static final int LONGEST_SENTENCE = 1_000;

  final Map<String, byte[]> entries = new LinkedHashMap<>();

  /** Reads a file of the resources. */
  static ArchiveFixture of(String name) throws IOException {
    ArchiveFixture archive = new ArchiveFixture();
    try (ZipFile zip = new ZipFile(path(name).toFile())) {
      for (ZipEntry entry : Collections.list(zip.entries())) {
        archive.entries.put(entry.getName(), zip.getInputStream(entry).readAllBytes());
      }
    }
    return archive;
  }

  /** Returns the path of a file of the resources. */
  static Path path(String name) {
    try {
      return Path.of(ArchiveFixture.class.getResource(name).toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the full name of the entry that ends so. */
  String named(String end) {
    return entries.keySet().stream().filter(name -> name.endsWith(end)).findFirst().orElseThrow();
  }

  /** Replaces text in an entry, which must hold it. */
  ArchiveFixture replace(String end, String from, String to) {
    String text = new String(entries.get(named(end)), StandardCharsets.UTF_8);
    assertTrue(text.contains(from), () -> end + " has no " + from);
    entries.put(named(end), text.replace(from, to).getBytes(StandardCharsets.UTF_8));
    return this;
  }

  /** Changes the object in an entry. */
  ArchiveFixture edit(String end, Consumer<JsonObject> change) {
    JsonObject json = new JsonObject(Buffer.buffer(entries.get(named(end))));
    change.accept(json);
    entries.put(named(end), json.toBuffer().getBytes());
    return this;
  }

  /** Sets an entry. */
  ArchiveFixture put(String name, byte[] content) {
    entries.put(name, content);
    return this;
  }

  /** Removes an entry. */
  ArchiveFixture remove(String end) {
    entries.remove(named(end));
    return this;
  }

  /** Writes the entries without compression. */
  Path write(Path file) throws IOException {
    return write(file, entries, ZipEntry.STORED);
  }

  static Path write(Path file, Map<String, byte[]> entries, int method) throws IOException {
    try (OutputStream out = Files.newOutputStream(file);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      for (Map.Entry<String, byte[]> one : entries.entrySet()) {
        ZipEntry entry = new ZipEntry(one.getKey());
        entry.setMethod(method);
        if (method == ZipEntry.STORED) {
          CRC32 crc = new CRC32();
          crc.update(one.getValue());
          entry.setSize(one.getValue().length);
          entry.setCrc(crc.getValue());
        }
        zip.putNextEntry(entry);
        zip.write(one.getValue());
        zip.closeEntry();
      }
    }
    return file;
  }

  /** Checks that a file is refused by one sentence that contains these words. */
  static void assertRefused(Path file, String expected) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> ExportArchive.read(file)).getMessage();
    assertTrue(found.startsWith("model " + file + ": "), found);
    assertTrue(found.contains(expected), found);
    assertEquals(1, found.lines().count(), found);
    assertTrue(found.length() <= LONGEST_SENTENCE, found);
    assertEquals(
        found,
        assertThrows(IllegalArgumentException.class, () -> ExportArchive.check(file)).getMessage());
  }
}
