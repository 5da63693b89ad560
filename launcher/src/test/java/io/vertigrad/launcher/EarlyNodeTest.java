package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.job.ExitStatus;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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

  /** As that of a container that is about to start. */
  @Test
  void shouldWaitForAMachineWhoseNameIsUnknownAsForOneThatDoesNotAnswer() throws Exception {
    Path secret = Files.writeString(folder.resolve("secret"), "0".repeat(64));
    Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));

    Process node =
        new ProcessBuilder(
                JavaCommand.of(
                    "300m",
                    "node",
                    "--job",
                    "stopped.invalid:15801",
                    "--wait",
                    "2",
                    "--secret",
                    secret.toString(),
                    "--role",
                    "worker"))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();

    assertTrue(node.waitFor(2 * LIMIT_SECONDS, TimeUnit.SECONDS));
    assertEquals(ExitStatus.BAD_INPUT, node.exitValue(), this::log);
    assertTrue(
        log()
            .contains(
                "waits up to 2 s for a job at stopped.invalid:15801: nothing answers there yet (no"
                    + " machine of the name stopped.invalid with an IPv4 address is known here)"),
        this::log);
    assertTrue(log().contains("vertigrad: stopped.invalid: no machine of that name"), this::log);
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
