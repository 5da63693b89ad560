package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ctrl-C: the terminal's interrupt, which reaches every process of the foreground group. */
@Tag("slow")
class InterruptedRunTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int INTERRUPTED = 130;

  @TempDir private Path folder;
  private Process run;

  @AfterEach
  void nobodyIsLeftBehind() {
    if (run == null) {
      return;
    }
    run.descendants().forEach(ProcessHandle::destroyForcibly);
    run.destroyForcibly();
  }

  @Test
  void shouldEndCleanlyWhenInterrupted() throws Exception {
    assumeTrue(interruptible(), "this process ignores interrupts, and so do all that it starts");
    run = start();
    Awaitility.await().atMost(LIMIT).until(() -> !run.isAlive() || events().contains("evaluated"));

    new ProcessBuilder("kill", "-INT", "--", "-" + run.pid()).start().waitFor();

    assertTrue(run.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), "it did not end");
    assertEquals(INTERRUPTED, run.exitValue(), said());
    assertTrue(said().contains("interrupted: stopping; what was recorded is in "), said());
    assertEquals(0, run.descendants().count());
    events().lines().forEach(JsonObject::new);
    assertTrue(!said().contains("xception") && !said().contains("unexpected"), said());
  }

  /** In a process group of its own, as a shell starts it on a terminal. */
  private Process start() throws IOException {
    List<String> command = new ArrayList<>();
    command.add("setsid");
    command.addAll(JavaCommand.of("2g", "train", "conf/digits-sync.json", "--steps", "1000000"));
    command.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    command.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("said").toFile())
        .start();
  }

  private static boolean interruptible() throws IOException {
    Path status = Path.of("/proc/self/status");
    return Files.exists(status)
        && Files.readAllLines(status).stream()
            .filter(line -> line.startsWith("SigIgn:"))
            .map(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
            .noneMatch(ignored -> (ignored & 2) != 0);
  }

  private String events() throws IOException {
    return read(folder.resolve("run/events.jsonl"));
  }

  private String said() throws IOException {
    return read(folder.resolve("said"));
  }

  private static String read(Path file) throws IOException {
    return Files.exists(file) ? Files.readString(file) : "";
  }
}
