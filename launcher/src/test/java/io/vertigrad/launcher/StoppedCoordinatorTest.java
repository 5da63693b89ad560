package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests jobs in processes whose coordinator is stopped for longer than any member's silence is
 * tolerated.
 */
@Tag("slow")
class StoppedCoordinatorTest {

  /** Longer than {@code exchange.evictMillis}. */
  private static final long STOPPED_SECONDS = 6;

  /** At five steps a second they last for longer than any of these tests. */
  private static final long STEPS = 600;

  @TempDir private Path folder;
  private Process run;

  @AfterEach
  void nobodyIsLeftBehind() {
    if (run != null) {
      run.descendants().forEach(ProcessHandle::destroyForcibly);
      run.destroyForcibly();
    }
  }

  @ParameterizedTest
  @CsvSource({"digits-sync, sync", "digits-ring, allreduce"})
  void shouldFinishWithNobodyEvictedWhenTheCoordinatorWasStopped(String job, String strategy)
      throws Exception {
    run = start(job, strategy);
    await(() -> events("workerProgress").anyMatch(event -> event.getLong("version") > 5));

    ProcessRun.signal("STOP", run.toHandle());
    TimeUnit.SECONDS.sleep(STOPPED_SECONDS);
    ProcessRun.signal("CONT", run.toHandle());
    await(() -> workerLog().contains("the coordinator answers worker"));
    Pace.of(folder.resolve("run")).release();
    await(() -> !run.isAlive());

    assertEquals(0, run.exitValue(), this::output);
    assertEquals(
        List.of(),
        events("memberLeft")
            .filter(event -> !event.getString("reason").equals("finished"))
            .filter(event -> !event.getString("reason").equals("stopped"))
            .toList());
    assertEquals(0, events("processRestarted").count());
    JsonObject summary = new JsonObject(Files.readString(folder.resolve("run/summary.json")));
    assertEquals(STEPS, summary.getLong("version"), summary::encode);
    String log = workerLog();
    assertTrue(log.contains("the coordinator has not answered worker"), log);
    assertTrue(log.contains("the coordinator answers worker"), log);
  }

  @Test
  void shouldEndAndReplaceAProcessThatStaysStopped() throws Exception {
    run = start("digits-ring", "allreduce");
    await(() -> events("workerProgress").anyMatch(event -> event.getLong("version") > 5));
    ProcessHandle hung =
        events("memberJoined")
            .filter(event -> event.getString("role").equals("worker"))
            .map(event -> event.getString("node").replaceAll(".* pid ", ""))
            .flatMap(pid -> ProcessHandle.of(Long.parseLong(pid)).stream())
            .findFirst()
            .orElseThrow();
    assertEquals("running", listed().getString("state"));
    assertTrue(output().contains("dashboard: " + listed().getString("page") + "  ("), this::output);

    ProcessRun.signal("STOP", hung);
    await(() -> !hung.isAlive());
    await(() -> events("processRestarted").count() > 0);
    Pace.of(folder.resolve("run")).release();
    await(() -> !run.isAlive());

    assertEquals(0, run.exitValue(), this::output);
    assertTrue(output().contains("ended with exit code 137"), this::output);
    assertEquals(1, events("processRestarted").count());
    assertEquals("finished", listed().getString("state"));
    assertFalse(listed().containsKey("page"));
  }

  /** Returns what {@code runs} says of the run. */
  private JsonObject listed() {
    CommandRun listed = CommandRun.of("runs", "--json", "--in", folder.toString());
    return new JsonArray(listed.out()).getJsonObject(0);
  }

  private Process start(String job, String strategy) throws IOException {
    List<String> command = JavaCommand.of("512m", "train", "conf/" + job + ".json", "--processes");
    command.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    Stream<String> settings =
        Stream.of(
            "strategy={\"name\":\"" + strategy + "\"}",
            "steps=" + STEPS,
            "workers.batch=8",
            "data.train=2000",
            "data.test=500",
            "dashboard.port=0",
            "evaluator.count=0",
            "cluster.port=" + FreePort.forCluster(),
            "exchange.suspectMillis=1000",
            "exchange.evictMillis=4000");
    Stream.concat(Pace.of(folder.resolve("run")).settings(25).stream(), settings)
        .forEach(setting -> command.addAll(List.of("--set", setting)));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("output").toFile())
        .start();
  }

  private void await(Callable<Boolean> condition) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(180))
        .until(() -> !run.isAlive() || condition.call());
  }

  private String workerLog() throws IOException {
    return Files.readString(folder.resolve("run/logs/worker-0.log"));
  }

  private String output() {
    try {
      return Files.readString(folder.resolve("output"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  private Stream<JsonObject> events(String type) throws IOException {
    Path file = folder.resolve("run/events.jsonl");
    return (Files.exists(file) ? Files.readString(file) : "")
        .lines()
        .filter(line -> line.startsWith("{\"type\":\"" + type + "\"") && line.endsWith("}"))
        .map(JsonObject::new);
  }
}
