package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.job.ExitStatus;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a member's process that starts before there is a cluster to join. */
@Tag("slow")
final class EarlyNodeTest {

  private static final long LIMIT_SECONDS = 60;

  @TempDir private Path folder;

  @Test
  void shouldEndWhenTheParentProcessNeverSendsTheJoinAddress() throws Exception {
    Process node = start();

    assertTrue(node.isAlive(), "it waits");
    node.getOutputStream().close();

    assertTrue(node.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    assertEquals(ExitStatus.OK, node.exitValue(), this::log);
  }

  /** An address from standard input is checked like one on the command line. */
  @Test
  void shouldRefuseAnInvalidAddress() throws Exception {
    Process node = start();

    node.getOutputStream().write("nowhere:at:all\n".getBytes());
    node.getOutputStream().flush();

    assertTrue(node.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS));
    assertEquals(ExitStatus.BAD_INPUT, node.exitValue(), this::log);
    assertTrue(log().contains("nowhere:at:all"), this::log);
  }

  private Process start() throws Exception {
    Path job = Files.writeString(folder.resolve("job.json"), "{\"data\": {\"name\": \"digits\"}}");
    return new ProcessBuilder(
            JavaCommand.of(
                "300m", "node", "--with-parent", "--join", "-", "--role", "worker", job.toString()))
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
  }

  private String log() {
    try {
      return Files.readString(folder.resolve("log"));
    } catch (java.io.IOException e) {
      return e.toString();
    }
  }
}
