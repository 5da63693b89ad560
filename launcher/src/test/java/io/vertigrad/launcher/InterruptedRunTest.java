package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.cluster.FreePort;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests signals that reach every process of a run: the interrupt of a terminal, and SIGTERM as
 * systemd sends it to a control group.
 */
@Tag("slow")
class InterruptedRunTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int INTERRUPTED = 130;
  private static final int TERMINATED = 143;

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
  void shouldSaveTheRunWhenTheProcessGroupIsInterrupted() throws Exception {
    assumeTrue(interruptible(), "this process ignores interrupts, and so do all that it starts");
    run =
        start(
            "--processes",
            "--set",
            "evaluator.count=0",
            "--set",
            "cluster.port=" + FreePort.forCluster());
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

  @ParameterizedTest
  @CsvSource({
    "digits-sync, 'servers.count=2 exchange.partitionElements=400 checkpoint.every=5'",
    "digits-diloco, strategy.syncEvery=5"
  })
  void shouldSaveModelAndResumableRunWhenTheWholeGroupIsTerminated(String job, String settings)
      throws Exception {
    Path runFolder = folder.resolve("run");
    List<String> options = new ArrayList<>(List.of("--set", "evaluator.count=0"));
    List<String> all = new ArrayList<>(Pace.of(runFolder).settings(3));
    all.addAll(List.of(settings.split(" ")));
    all.forEach(setting -> options.addAll(List.of("--set", setting)));
    options.addAll(List.of("--steps", "100", "--no-dashboard"));
    List<String> group = new ArrayList<>(options);
    group.addAll(List.of("--processes", "--set", "cluster.port=" + FreePort.forCluster()));
    run = start(job, group);
    Awaitility.await().atMost(LIMIT).until(() -> !run.isAlive() || steps() > 10);

    signal("TERM");

    assertTrue(run.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS), "it did not end");
    assertEquals(TERMINATED, run.exitValue(), said());
    assertEquals(0, run.descendants().count());
    assertFalse(events().contains("processRestarted"), said());
    assertFalse(said().contains("no model") || said().contains("no checkpoint"), said());
    assertFalse(said().contains("xception") || said().contains("unexpected"), said());
    JsonObject summary = new JsonObject(read(runFolder.resolve("summary.json")));
    assertEquals("interrupted", summary.getString("state"));
    assertTrue(summary.getLong("version") > 0, summary.encode());
    assertTrue(Files.exists(runFolder.resolve("model.zip")), said());

    Pace.of(runFolder).release();
    CommandRun resumed = CommandRun.of("resume", runFolder.toString(), "--no-processes");
    assertEquals(0, resumed.exit(), resumed.err());
    List<String> undisturbed = new ArrayList<>(List.of("train", "conf/" + job + ".json"));
    undisturbed.addAll(List.of("--run-dir", folder.resolve("undisturbed").toString()));
    undisturbed.addAll(options);
    assertEquals(0, CommandRun.of(undisturbed.toArray(String[]::new)).exit());
    assertEquals(hash("undisturbed"), hash("run"));
    assertEquals(1, json("run").getInteger("resumes"), "the signal came before the end");
  }

  @Test
  void shouldEndAtOnceWhenInterruptedTwice() throws Exception {
    assumeTrue(interruptible(), "this process ignores interrupts, and so do all that it starts");
    run =
        start(
            "--processes",
            "--set",
            "evaluator.count=0",
            "--set",
            "cluster.port=" + FreePort.forCluster());
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
    signal("INT");
  }

  private void signal(String name) throws Exception {
    new ProcessBuilder("kill", "-" + name, "--", "-" + run.pid()).start().waitFor();
  }

  private JsonObject json(String name) throws IOException {
    return new JsonObject(read(folder.resolve(name).resolve("summary.json")));
  }

  private String hash(String name) throws IOException {
    return json(name).getString("parametersHash");
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
    List<String> all = new ArrayList<>(List.of("--steps", "1000000", "--workers", "1"));
    all.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    all.addAll(List.of(options));
    return start("digits-sync", all);
  }

  private Process start(String job, List<String> options) throws IOException {
    List<String> command = new ArrayList<>();
    command.add("setsid");
    command.addAll(JavaCommand.of("2g", "train", "conf/" + job + ".json"));
    command.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    command.addAll(options);
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
