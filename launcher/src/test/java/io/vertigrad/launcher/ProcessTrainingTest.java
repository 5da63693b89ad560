package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whole jobs, every role in its own JVM. */
@Tag("slow")
class ProcessTrainingTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);

  @TempDir private Path folder;

  @AfterEach
  void nobodyIsLeftBehind() {
    children().forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void shouldEndAtTheSameBitsWhenSyncRunsInOneOrFourProcesses() throws IOException {
    CommandRun embedded = CommandRun.of(arguments("digits-sync", "embedded", "--steps", "30"));
    CommandRun processes =
        CommandRun.of(
            arguments("digits-sync", "processes", "--steps", "30", "--processes", "--timeline"));

    assertEquals(0, embedded.exit(), embedded.err());
    assertEquals(0, processes.exit(), processes.err());
    assertEquals(
        summary("embedded").getString("parametersHash"),
        summary("processes").getString("parametersHash"));
    assertEquals(
        summary("embedded").getDouble("accuracy"), summary("processes").getDouble("accuracy"));
    for (String role : List.of("server-0", "worker-0", "worker-1", "evaluator-0")) {
      assertTrue(Files.exists(folder.resolve("processes/logs/" + role + ".log")), role);
    }
    assertEquals(List.of(), children());
    assertFalse(Files.exists(folder.resolve("embedded/timeline.json")), "nobody asked for it");
    Trace trace = Trace.read(folder.resolve("processes/timeline.json"));
    assertEquals(Set.of("server 0", "worker 0", "worker 1", "evaluator"), trace.members().keySet());
    trace.members().keySet().forEach(member -> assertTrue(trace.nests(member), member));
    assertEquals(30, trace.count("worker 1", "compute"));
    assertEquals(30, trace.count("server 0", "apply partition 0"));
    assertEquals(1, trace.count("evaluator", "test all"));
  }

  @ParameterizedTest
  @CsvSource({"digits-sync, 300, 300", "digits-async, 300, 600"})
  void shouldFinishWhenWorkerIsKilledAndReplaced(String job, int steps, long last)
      throws Exception {
    assertFinishesAfterKill(job, steps, last, "seed=0");
  }

  @Test
  void shouldFinishWithEqualReplicasWhenWorkerIsKilledAndReplacedWithoutServers() throws Exception {
    assertFinishesAfterKill("digits-ring", 300, 300, "strategy={\"name\":\"allreduce\"}");

    JsonObject replicas = summary("run").getJsonObject("replicas");
    assertEquals(0, replicas.getDouble("consensusDistance"), replicas.encode());
  }

  private void assertFinishesAfterKill(String job, int steps, long last, String setting)
      throws Exception {
    CompletableFuture<CommandRun> run = start(job, steps, setting, 500, 1_500);
    await(run, () -> events().contains("\"type\":\"evaluated\""));

    firstWorker().destroyForcibly();
    await(run, () -> happened("memberLeft", 0));
    Process replacement = replacement();
    CommandRun ended = run.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(ended.out().contains("ended with exit code 137"), ended.out());
    assertTrue(happened("memberJoined", 1), ended.out());
    assertEquals(last, summary("run").getLong("version"));
    assertTrue(summary("run").getDouble("accuracy") > 60, summary("run").encode());
    assertTrue(replacement.waitFor(20, TimeUnit.SECONDS), "the replacement did not end");
    assertEquals(0, replacement.exitValue(), Files.readString(folder.resolve("replacement.log")));
  }

  @Test
  void shouldGoOnWhenAWorkerSleptForLongerThanItIsWaitedFor() throws Exception {
    CompletableFuture<CommandRun> run = start("digits-sync", 300, "timeline=true", 1_000, 4_000);
    await(run, () -> events().contains("\"type\":\"evaluated\""));
    long sleeper = firstWorker().pid();

    signal("STOP", sleeper);
    await(run, () -> happened("memberSuspected", 0));
    signal("CONT", sleeper);
    long before = evaluations();
    await(run, () -> evaluations() > before + 1);
    assertFalse(happened("memberLeft", 0), "suspected only");
    signal("STOP", sleeper);
    await(run, () -> happened("memberLeft", 0));
    signal("CONT", sleeper);
    await(run, () -> happened("memberJoined", 1));
    CommandRun ended = run.get(LIMIT.toSeconds(), TimeUnit.SECONDS);

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(happened("memberJoined", 1), ended.out());
    Trace trace = Trace.read(folder.resolve("run/timeline.json"));
    double waited = Math.max(trace.longest("worker 0", "wait"), trace.longest("worker 1", "wait"));
    assertTrue(waited > 3, "nobody seems to have waited for the one that slept: " + waited);
    assertEquals(300, summary("run").getLong("version"));
    assertTrue(summary("run").getDouble("accuracy") > 60, summary("run").encode());
  }

  /** A run of several seconds, whose members are suspected and evicted after so long. */
  private CompletableFuture<CommandRun> start(
      String job, int steps, String setting, int suspectMillis, int evictMillis) {
    String[] arguments =
        arguments(
            job,
            "run",
            "--processes",
            "--steps",
            String.valueOf(steps),
            "--set",
            setting,
            "--set",
            "workers.batch=512",
            "--set",
            "exchange.suspectMillis=" + suspectMillis,
            "--set",
            "exchange.evictMillis=" + evictMillis,
            "--set",
            "cluster.port=17701");
    return CompletableFuture.supplyAsync(() -> CommandRun.of(arguments));
  }

  private static void signal(String name, long pid) throws Exception {
    Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid)).start();
    assertEquals(0, kill.waitFor(), "kill -" + name);
  }

  private String[] arguments(String job, String run, String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/" + job + ".json"));
    arguments.addAll(List.of("--run-dir", folder.resolve(run).toString()));
    arguments.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    arguments.addAll(List.of(options));
    return arguments.toArray(String[]::new);
  }

  private Process replacement() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            VertigradApplication.class.getName(),
            "node",
            "--role",
            "worker",
            "--join",
            "127.0.0.1:17701",
            folder.resolve("run/job.json").toString())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("replacement.log").toFile())
        .start();
  }

  private static void await(CompletableFuture<CommandRun> run, Callable<Boolean> condition) {
    Awaitility.await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(50))
        .until(() -> run.isDone() || condition.call());
  }

  private ProcessHandle firstWorker() throws IOException {
    return events()
        .lines()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals("memberJoined"))
        .filter(event -> event.getString("role").equals("worker"))
        .map(event -> Long.parseLong(event.getString("node").replaceAll(".* pid ", "")))
        .flatMap(pid -> ProcessHandle.of(pid).stream())
        .findFirst()
        .orElseThrow(() -> new AssertionError("no worker process runs"));
  }

  private static List<ProcessHandle> children() {
    return ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList();
  }

  private String events() throws IOException {
    Path file = folder.resolve("run/events.jsonl");
    return Files.exists(file) ? Files.readString(file) : "";
  }

  private long evaluations() throws IOException {
    return events().lines().filter(line -> line.contains("\"type\":\"evaluated\"")).count();
  }

  private boolean happened(String type, int incarnation) throws IOException {
    return events()
        .lines()
        .map(JsonObject::new)
        .anyMatch(
            event ->
                event.getString("type").equals(type)
                    && event.getString("role").equals("worker")
                    && event.getInteger("incarnation") == incarnation);
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }
}
