package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests commands under other languages, time zones, users and limits than the build's own. */
@Tag("slow")
class EnvironmentTest {

  private static final long LIMIT_SECONDS = 300;

  @TempDir private Path folder;

  /** A run of a process; both outputs are in {@code said} unless standard output went elsewhere. */
  private record Ended(int exit, String said) {}

  @Test
  void shouldNameCheckpointsInPlainDigitsWhenTheLanguageHasDigitsOfItsOwn() throws Exception {
    Ended ended =
        run(
            List.of(),
            List.of("-Duser.language=ar", "-Duser.country=EG", "-Duser.timezone=Pacific/Apia"),
            train());

    assertEquals(0, ended.exit(), ended.said());
    assertNames(folder.resolve("run/checkpoints"));
    assertNames(folder.resolve("run"));
  }

  @Test
  void shouldKeepNativeLibrariesInAPrivateFolderWhenTheUserHasNoNameAndNoHome() throws Exception {
    Path temporary = Files.createDirectory(folder.resolve("tmp"));

    // Java knows the home folder of such a user by this name.
    Ended ended =
        run(
            List.of("env", "-u", "HOME"),
            List.of("-Duser.home=?", "-Djava.io.tmpdir=" + temporary),
            train());

    assertEquals(0, ended.exit(), ended.said());
    assertFalse(Files.exists(folder.resolve("?")), "a folder of the name ?");
    Path home = temporary.resolve("vertigrad-home-" + Files.getAttribute(folder, "unix:uid"));
    assertTrue(Files.isDirectory(home.resolve(".javacpp/cache")), ended.said());
  }

  @Test
  void shouldFailWhenItsOutputCannotBeWritten() throws Exception {
    assumeTrue(Files.exists(Path.of("/dev/full")), "needs /dev/full");

    Ended full = run(sh("exec \"$@\" > /dev/full"), List.of(), List.of("--help"));
    Ended pipe =
        run(
            List.of("bash", "-c", "\"$@\" | true; exit ${PIPESTATUS[0]}", "-"),
            List.of(),
            List.of("--help"));

    assertEquals(1, full.exit(), full.said());
    assertTrue(full.said().startsWith("vertigrad: the output could not be written: "), full.said());
    assertEquals("", pipe.said());
  }

  private List<String> train() {
    return List.of(
        "train",
        "--no-dashboard",
        "--steps",
        "12",
        "--set",
        "checkpoint.every=4",
        "--run-dir",
        folder.resolve("run").toString());
  }

  private static List<String> sh(String script) {
    return List.of("sh", "-c", script, "-");
  }

  private static void assertNames(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      List<String> names = files.map(file -> file.getFileName().toString()).toList();
      assertFalse(names.isEmpty());
      names.forEach(name -> assertTrue(name.matches("\\p{ASCII}+"), name));
    }
  }

  private Ended run(List<String> before, List<String> options, List<String> words)
      throws Exception {
    List<String> command = new ArrayList<>(before);
    List<String> java = JavaCommand.of("400m", words.toArray(String[]::new));
    command.add(java.get(0));
    command.addAll(options);
    command.addAll(java.subList(1, java.size()));
    Path said = folder.resolve("said");
    ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile());
    Process process = builder.redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), "does not end");
      return new Ended(process.exitValue(), Files.readString(said));
    } finally {
      process.destroyForcibly();
    }
  }
}
