package io.vertigrad.benchmarks.gpu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what {@code benchmarks/gpu/prune.py} keeps of a library for CUDA. */
class PruneTest {

  private static final Path PRUNE = Path.of("gpu/prune.py").toAbsolutePath();
  private static final int PTX = 1;
  private static final int MACHINE_CODE = 2;
  private static final int HEADER = 64;
  private static final String NATIVES = "org/bytedeco/x/libx.so.1";

  @TempDir Path folder;

  /**
   * One entry of a fat binary.
   *
   * @param architecture such as 90
   * @param text its payload
   */
  private record Entry(int kind, int architecture, String text) {}

  @Test
  void shouldKeepOnlyWhatTheGpuRuns() throws Exception {
    byte[] library =
        library(
            List.of(
                new Entry(MACHINE_CODE, 80, "old "),
                new Entry(MACHINE_CODE, 90, "this"),
                new Entry(PTX, 90, "text")),
            // Nothing for this generation: the newest text that it can compile.
            List.of(
                new Entry(MACHINE_CODE, 80, "gone"),
                new Entry(PTX, 70, "less"),
                new Entry(PTX, 80, "best"),
                new Entry(PTX, 100, "next")),
            // Nothing at all that it could run.
            List.of(new Entry(MACHINE_CODE, 100, "none")));

    byte[] pruned = prune(library);

    assertEquals(library.length, pruned.length);
    String text = new String(pruned, StandardCharsets.ISO_8859_1);
    for (String kept : List.of("this", "best", "host code")) {
      assertEquals(
          new String(library, StandardCharsets.ISO_8859_1).indexOf(kept), text.indexOf(kept));
    }
    for (String gone : List.of("old ", "text", "gone", "less", "next", "none")) {
      assertFalse(text.contains(gone), gone);
    }
  }

  @Test
  void shouldLeaveAJarWithLibrariesOfTheSameLengthAndTime() throws Exception {
    byte[] library = library(List.of(new Entry(MACHINE_CODE, 90, "this")));

    prune(library);

    Path unpacked = folder.resolve("natives/x-1.jar").resolve(NATIVES);
    try (ZipFile before = new ZipFile(folder.resolve("x-1.jar").toFile());
        ZipFile after = new ZipFile(folder.resolve("engine/x-1.jar").toFile())) {
      ZipEntry entry = after.getEntry(NATIVES);
      assertEquals(before.getEntry(NATIVES).getTimeLocal(), entry.getTimeLocal());
      assertEquals(Files.size(unpacked), entry.getSize());
      assertArrayEquals(new byte[library.length], after.getInputStream(entry).readAllBytes());
      assertEquals(
          before.getEntry(NATIVES).getTimeLocal(),
          Files.getLastModifiedTime(unpacked)
              .toInstant()
              .atZone(java.time.ZoneOffset.UTC)
              .toLocalDateTime());
      assertEquals(null, after.getEntry("org/bytedeco/x/libnppc.so.13"));
    }
  }

  private byte[] prune(byte[] library) throws Exception {
    Path jar = folder.resolve("x-1.jar");
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      out.putNextEntry(new ZipEntry(NATIVES));
      out.write(library);
      out.putNextEntry(new ZipEntry("org/bytedeco/x/libnppc.so.13"));
      out.write(library);
    }
    Files.createDirectories(folder.resolve("engine"));
    List<String> command =
        List.of(
            "python3",
            PRUNE.toString(),
            "90",
            folder.resolve("natives").toString(),
            folder.resolve("engine").toString(),
            jar.toString());
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    try (LimitedCommand one =
        new LimitedCommand(command, Map.of(), folder, folder.resolve("a.log"), deadline)) {
      one.awaitSuccess();
    } catch (IOException e) {
      assumeTrue(!e.getMessage().contains("Cannot run program"), "there is no python3");
      throw e;
    }
    return Files.readAllBytes(folder.resolve("natives/x-1.jar").resolve(NATIVES));
  }

  /** Returns the header of a library without sections, text of the processor, and fat binaries. */
  @SafeVarargs
  private static byte[] library(List<Entry>... fatBinaries) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(Arrays.copyOf(new byte[] {0x7f, 'E', 'L', 'F'}, HEADER));
    out.write("host code".getBytes(StandardCharsets.ISO_8859_1));
    for (List<Entry> entries : fatBinaries) {
      int size = entries.stream().mapToInt(one -> HEADER + one.text().length()).sum();
      ByteBuffer buffer = ByteBuffer.allocate(16 + size).order(ByteOrder.LITTLE_ENDIAN);
      buffer.putInt(0xBA55ED50).putShort((short) 1).putShort((short) 16).putLong(size);
      for (Entry entry : entries) {
        int start = buffer.position();
        buffer.putShort((short) entry.kind()).putShort((short) 0x101).putInt(HEADER);
        buffer.putLong(entry.text().length());
        buffer.putInt(start + 28, entry.architecture());
        buffer.position(start + HEADER);
        buffer.put(entry.text().getBytes(StandardCharsets.ISO_8859_1));
      }
      out.write(buffer.array());
      out.write("host code".getBytes(StandardCharsets.ISO_8859_1));
    }
    return out.toByteArray();
  }
}
