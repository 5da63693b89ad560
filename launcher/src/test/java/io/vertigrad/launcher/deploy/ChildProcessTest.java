package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ChildProcessTest {

  private static final long LIMIT_SECONDS = 60;

  @TempDir private Path folder;

  /** Prints what this JVM was started with, one thing a line. */
  static final class Echo {

    private Echo() {}

    public static void main(String[] arguments) {
      System.out.println(String.join("|", arguments));
      System.out.println(System.getProperty("java.class.path"));
      System.out.println(ManagementFactory.getRuntimeMXBean().getInputArguments());
      System.out.println(ProcessHandle.current().info().commandLine().orElse("").length());
    }
  }

  @Test
  void shouldPassOptionsAndClassPathByAFileBesideTheLog() throws Exception {
    Path logs = folder.resolve("a \"quoted\" run\\'s/logs");
    List<String> words = List.of("node", "a b", "@c", "");
    Path log = logs.resolve("worker-0.log");

    ChildProcess first = ChildProcess.start("worker-0", log, Echo.class.getName(), words);
    ChildProcess second =
        ChildProcess.start("worker-1", logs.resolve("worker-1.log"), Echo.class.getName(), words);
    first.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);
    second.onExit().get(LIMIT_SECONDS, TimeUnit.SECONDS);

    List<String> said = Files.readAllLines(log);
    assertEquals(0, first.exitCode(), said.toString());
    assertEquals(said, Files.readAllLines(logs.resolve("worker-1.log")));
    assertEquals("node|a b|@c|", said.get(0));
    assertEquals(System.getProperty("java.class.path"), said.get(1));
    String own = ManagementFactory.getRuntimeMXBean().getInputArguments().toString();
    assertEquals("[-XX:+ExitOnOutOfMemoryError, " + own.substring(1), said.get(2));
    int length = Integer.parseInt(said.get(3));
    assertTrue(length < 500, length + " characters in the list of processes");
    Path file = logs.resolve("java-%s.args".formatted(ProcessHandle.current().pid()));
    assertTrue(Files.exists(file), file.toString());
    try (var files = Files.list(logs)) {
      assertEquals(3, files.count(), "one file for both");
    }
  }
}
