package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/** Starts libtorch in JVMs from an empty folder of native libraries, and fails to fill one. */
class NativeLibrariesTest {

  @TempDir(cleanup = CleanupMode.NEVER)
  Path folder;

  /** JUnit warns about JavaCPP's links to libraries of the system. */
  @AfterEach
  void delete() throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Computes one gradient and prints the loss. */
  public static void main(String[] arguments) {
    List<Integer> shape = List.of(1, 28, 28);
    ModelConfig config = new ModelConfig("convnet", Map.of(), shape, 10, 1, 1);
    try (Model model = Engine.named("pytorch").model(config)) {
      System.out.println("loss " + model.gradient(Samples.batch(8, shape, 10, 1)));
    }
  }

  @Test
  @Tag("slow")
  void shouldUnpackOnceWhenTwoProcessesStartTogether() throws Exception {
    List<Process> processes = List.of(start("first"), start("second"));
    List<String> outputs = new ArrayList<>();
    for (Process process : processes) {
      assertTrue(process.waitFor(120, TimeUnit.SECONDS), "it did not end within 120 s");
    }
    for (String name : List.of("first", "second")) {
      outputs.add(Files.readString(folder.resolve(name)));
    }

    for (int i = 0; i < 2; i++) {
      assertEquals(0, processes.get(i).exitValue(), outputs.get(i));
      assertTrue(outputs.get(i).contains("loss 2."), outputs.get(i));
    }
    long unpacked =
        outputs.stream().filter(output -> output.contains("unpacking libtorch into")).count();
    assertEquals(1, unpacked, outputs.toString());
  }

  @Test
  void shouldNameFolderAndSizeWhenTheDiskIsFull() {
    IOException full =
        assertThrows(
            IOException.class,
            () ->
                NativeLibraries.unpackAlone(
                    folder,
                    470_000_000,
                    () -> {
                      throw new IOException("No space left on device");
                    }));

    assertEquals(
        "libtorch (470 MB) cannot be unpacked into "
            + folder
            + ": No space left on device; name a folder with room that this user can write with"
            + " -Dorg.bytedeco.javacpp.cachedir=FOLDER, for the start script in"
            + " VERTIGRAD_JAVA_OPTS",
        full.getMessage());
  }

  @Test
  void shouldNameTheFolderWhenItsLockCannotBeOpened() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));

    IOException refused =
        assertThrows(
            IOException.class,
            () -> NativeLibraries.unpackAlone(file, 470_000_000, () -> fail("no lock is held")));

    assertTrue(
        refused.getMessage().startsWith("libtorch (470 MB) cannot be unpacked into " + file + ": "),
        refused.getMessage());
    assertTrue(refused.getMessage().contains("; name a folder with room"), refused.getMessage());
  }

  private Process start(String output) throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"),
            "-cp",
            System.getProperty("java.class.path"),
            NativeLibrariesTest.class.getName())
        .directory(folder.toFile())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve(output).toFile())
        .start();
  }
}
