package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.VertigradApplication;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a command of Vertigrad in a process of its own, with this engine on its class path. */
final class CommandProcess {

  private static final long SECONDS = 180;

  private CommandProcess() {}

  /**
   * Runs a command to its end.
   *
   * @param folder in which it runs
   * @param exit code that is expected
   * @return what it printed
   */
  static String run(Path folder, int exit, String... arguments)
      throws IOException, InterruptedException {
    Path said = Files.createTempFile(folder, "said", ".txt");
    ProcessBuilder command =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            VertigradApplication.class.getName());
    command.command().addAll(List.of(arguments));
    Process process =
        command
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "still running");
    } finally {
      process.destroyForcibly();
    }
    String found = Files.readString(said);
    assertEquals(exit, process.exitValue(), found);
    return found;
  }
}
