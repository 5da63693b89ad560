package io.vertigrad.launcher;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/**
 * The result of {@code examples/metrics-bridge/watch.js} in Node.
 *
 * @param exit its exit code; -1 when it had to be killed
 * @param lines its output
 */
record NodeWatch(int exit, List<String> lines) {

  private static final String PROGRAM = "examples/metrics-bridge/watch.js";
  private static final long LIMIT_SECONDS = 60;

  /**
   * Runs the program on a page until it has received this many deltas, or skips the test with a
   * reason.
   */
  static NodeWatch of(String page, int deltas) throws IOException, InterruptedException {
    Assumptions.assumeTrue(
        Stream.of(System.getenv("PATH").split(":"))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, "node"))),
        "skipped: no node; install nodejs to run it");
    Path output = Files.createTempFile("node", ".txt");
    Process node =
        new ProcessBuilder("node", program().toString(), page, String.valueOf(deltas))
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      boolean ended = node.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      return new NodeWatch(ended ? node.exitValue() : -1, Files.readAllLines(output));
    } finally {
      node.destroyForcibly();
      Files.delete(output);
    }
  }

  /** Finds the program: tests run in the package's folder or in the one above. */
  private static Path program() {
    return Stream.of(Path.of(PROGRAM), Path.of("..", PROGRAM))
        .filter(Files::exists)
        .findFirst()
        .orElseThrow();
  }
}
