package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.launcher.job.ShellCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the example of two machines, which are network namespaces, with TLS and a node that dies.
 */
@Tag("slow")
class ThreeNodesTest {

  private static final Path EXAMPLE = Path.of("../examples/three-nodes/run").toAbsolutePath();

  @TempDir private Path folder;

  @Test
  void shouldTrainInTwoNamespacesAndReplaceTheNodeThatDies() throws Exception {
    String space = "vertigrad-test-" + ProcessHandle.current().pid();
    assumeTrue(
        succeeds("ip", "netns", "add", space) && succeeds("ip", "netns", "delete", space),
        "skipped: needs root, and ip of iproute2");
    assumeTrue(succeeds("openssl", "version"), "skipped: needs openssl");
    Path program = folder.resolve("vertigrad");
    String java =
        JavaCommand.of("512m").stream().map(ShellCommand::quoted).collect(Collectors.joining(" "));
    Files.writeString(
        program,
        "#!/bin/sh\nexec %s \"$@\"\n"
            .formatted(java.replaceFirst(" -cp ", " -Dvertigrad.command=" + program + " -cp ")));
    assertTrue(program.toFile().setExecutable(true));
    Path said = folder.resolve("said");
    ProcessBuilder example =
        new ProcessBuilder(EXAMPLE.toString(), folder.resolve("files").toString())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile());
    example.environment().put("VERTIGRAD", program.toString());
    example.environment().put("STEPS", "500");

    Process process = example.start();

    try {
      assertTrue(process.waitFor(240, TimeUnit.SECONDS), () -> read(said));
    } finally {
      process.destroy();
    }
    assertEquals(
        0, process.exitValue(), () -> read(said) + read(folder.resolve("files/train.log")));
    String text = read(said);
    assertTrue(text.contains("worker 0 joined from 10.77.0.1 "), text);
    assertTrue(text.contains("worker 1 joined from 10.77.0.2 "), text);
    assertTrue(text.contains("worker 2 joined from 10.77.0.2 "), text);
    assertTrue(text.matches("(?s).*\nworker [12] left: .*\naccuracy .*"), text);
  }

  private static boolean succeeds(String... command) throws InterruptedException {
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException notInstalled) {
      return false;
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
