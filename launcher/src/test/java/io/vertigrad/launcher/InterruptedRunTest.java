package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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

/** Tests Ctrl-C: the terminal's interrupt, which reaches every process of the foreground group. */
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
  void shouldSaveWhatTheProcessesHoldWhenTheirWholeGroupIsInterrupted() throws Exception {
    assumeTrue(interruptible(), "this process ignores interrupts, and so do all that it starts");
    run = start("--processes", "--set", "evaluator.count=0", "--set", "cluster.port=17971");
    Awaitility.await().atMost(LIMIT).until(() -> !run.isAlive() || steps() > 0);

    interrupt();

    assertTrue(run.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), "it did not end");
    assertEquals(INTERRUPTED, run.exitValue(), said());
    assertTrue(said().contains("interrupted: saving what there is; Ctrl-C again ends"), said());
    assertFalse(said().contains("no model") || said().contains("no checkpoint"), said());
    assertEquals(0, run.descendants().count());
    events().lines().forEach(JsonObject::new);
    assertTrue(!said().contains("xception") && !said().contains("unexpected"), said());
    JsonObject summary = new JsonObject(read(folder.resolve("run/summary.json")));
    assertEquals("interrupted", summary.getString("state"));
    assertTrue(summary.getLong("version") > 0, summary.encode());
    assertTrue(Files.exists(Path.of(summary.getJsonArray("checkpoints").getString(0))));
    assertTrue(Files.exists(folder.resolve("run/model.zip")), said());
  }

  @Test
  void shouldEndAtOnceWhenInterruptedTwice() throws Exception {
    assumeTrue(interruptible(), "this process ignores interrupts, and so do all that it starts");
    run = start("--processes", "--set", "evaluator.count=0", "--set", "cluster.port=17981");
    Awaitility.await().atMost(LIMIT).until(() -> !run.isAlive() || steps() > 0);
    // The worker's process is stopped, so that an orderly end takes its ten seconds.
    ProcessHandle worker = worker();
    new ProcessBuilder("kill", "-STOP", Long.toString(worker.pid())).start().waitFor();
    interrupt();
    Awaitility.await().atMost(LIMIT).until(() -> !run.isAlive() || said().contains("again ends"));

    while (!run.waitFor(300, TimeUnit.MILLISECONDS)) {
      interrupt();
    }

    assertEquals(INTERRUPTED, run.exitValue(), said());
    assertFalse(Files.exists(folder.resolve("run/summary.json")), said());
    assertTrue(worker.onExit().get(10, TimeUnit.SECONDS) != null);
  }

  private ProcessHandle worker() throws IOException {
    return events()
        .lines()
        .map(JsonObject::new)
        .filter(event -> "worker".equals(event.getString("role")))
        .filter(event -> event.getString("type").equals("memberJoined"))
        .map(event -> Long.parseLong(event.getString("node").replaceAll(".* pid ", "")))
        .flatMap(pid -> ProcessHandle.of(pid).stream())
        .findFirst()
        .orElseThrow();
  }

  /** Interrupts the whole process group, as the terminal does. */
  private void interrupt() throws Exception {
    new ProcessBuilder("kill", "-INT", "--", "-" + run.pid()).start().waitFor();
  }

  /** Returns the highest step that a worker has reported. */
  private long steps() throws IOException {
    return events()
        .lines()
        .filter(line -> line.startsWith("{\"type\":\"workerProgress\"") && line.endsWith("}"))
        .mapToLong(line -> new JsonObject(line).getLong("step"))
        .max()
        .orElse(0);
  }

  /** Starts the run in its own process group, as a shell does on a terminal. */
  private Process start(String... options) throws IOException {
    List<String> command = new ArrayList<>();
    command.add("setsid");
    command.addAll(JavaCommand.of("2g", "train", "conf/digits-sync.json", "--steps", "1000000"));
    command.addAll(List.of("--run-dir", folder.resolve("run").toString(), "--workers", "1"));
    command.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    command.addAll(List.of(options));
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
