package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests whole jobs with every role in its own JVM. */
@Tag("slow")
class ProcessTrainingTest {

  /** Several times the usual duration, for a busy machine. */
  private static final long EXIT_MILLIS = 5_000;

  @TempDir private Path folder;

  @AfterEach
  void nobodyIsLeftBehind() {
    children().forEach(ProcessHandle::destroyForcibly);
  }

  @Test
  void shouldEndAtTheSameBitsWhenSyncRunsInOneOrFiveProcesses() throws IOException {
    assertSameBitsWhicheverWayTensorsTake(
        "digits-sync", List.of("--epochs", "1.875"), "--processes=all", "--timeline");

    assertEquals(
        summary("embedded").getDouble("accuracy"), summary("shared").getDouble("accuracy"));
    for (String role : List.of("server-0", "worker-0", "worker-1", "evaluator-0")) {
      assertTrue(Files.exists(folder.resolve("shared/logs/" + role + ".log")), role);
    }
    JsonObject ran = new JsonObject(Files.readString(folder.resolve("shared/job.json")));
    assertEquals(1.875, ran.getDouble("epochs"));
    JsonObject resolved = ran.getJsonObject("resolved");
    JsonObject fingerprints = (JsonObject) resolved.remove("fingerprints");
    assertEquals(Set.of("testData", "trainingData"), fingerprints.fieldNames());
    assertEquals(new JsonObject().put("trainingSamples", 2_000), resolved);
    assertEquals(List.of(), children());
    assertFalse(Files.exists(folder.resolve("embedded/timeline.json")), "nobody asked for it");
    Trace trace = Trace.read(folder.resolve("shared/timeline.json"));
    assertEquals(Set.of("server 0", "worker 0", "worker 1", "evaluator"), trace.members().keySet());
    trace.members().keySet().forEach(member -> assertTrue(trace.nests(member), member));
    // 1.875 passes of 16 batches of 64 over 1,000 samples each.
    assertEquals(30, trace.count("worker 1", "compute"));
    assertEquals(30, trace.count("server 0", "apply partition 0"));
    assertEquals(1, trace.count("evaluator", "test all"));
  }

  @Test
  void shouldEndAtTheSameBitsWhenARingRunsInOneOrThreeProcesses() throws IOException {
    assertSameBitsWhicheverWayTensorsTake("digits-ring", List.of("--steps", "20"), "--processes");

    assertTrue(Files.exists(folder.resolve("shared/logs/worker-1.log")));
    assertTrue(Files.notExists(folder.resolve("shared/logs/server-0.log")));
  }

  @Test
  void shouldEndAtTheSameBitsWhenStagesRunInOneJvmOrEachInItsOwn() throws IOException {
    CommandRun embedded =
        assertSameBitsWhicheverWayTensorsTake(
            "digits-pipeline",
            List.of("--steps", "30", "--set", "evaluator.every=30", "--set", "data.test=2000"),
            "--processes");

    assertTrue(
        embedded.out().contains("stage 1: fc to fc, 1,930 parameters, [10] out"), embedded.out());
    assertTrue(embedded.out().contains("bubble 20.0 %"), embedded.out());
    assertTrue(Files.exists(folder.resolve("shared/logs/stage-1.log")));
    assertFalse(Files.exists(folder.resolve("shared/logs/evaluator-0.log")), "stages test");
    for (String run : List.of("embedded", "stream", "shared")) {
      assertEquals(List.of("500 of 0", "500 of 30", "2000 of 30"), tests(run), run);
    }
    JsonObject ran = new JsonObject(Files.readString(folder.resolve("embedded/job.json")));
    assertEquals(List.of("relu1"), ran.getJsonObject("pipeline").getJsonArray("cuts").getList());
    assertScores(folder.resolve("embedded/model.zip"));
  }

  private List<String> tests(String run) throws IOException {
    return Files.readAllLines(folder.resolve(run).resolve("events.jsonl")).stream()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals("evaluated"))
        .map(tested -> tested.getInteger("samples") + " of " + tested.getLong("version"))
        .toList();
  }

  /** Checks that the saved file is a normal network. */
  private static void assertScores(Path file) {
    ModelConfig config = new ModelConfig(file.toString(), Map.of(), List.of(1, 28, 28), 10, 0, 1);
    try (Model model = Engine.named("dl4j").model(config)) {
      Batch blank = new Batch(new float[784], new int[1], List.of(1, 28, 28), 0);
      assertEquals(1, model.score(blank).samples());
      assertEquals(1_960, model.layout().length());
    }
  }

  /**
   * Trains a job in one JVM, then in processes over streams and over shared memory.
   *
   * @param length options for all three runs
   * @param more options for the runs in processes
   * @return the run in one JVM
   */
  private CommandRun assertSameBitsWhicheverWayTensorsTake(
      String job, List<String> length, String... more) throws IOException {
    CommandRun embedded = CommandRun.of(arguments(job, "embedded", length.toArray(String[]::new)));
    assertEquals(0, embedded.exit(), embedded.err());
    String bits = summary("embedded").getString("parametersHash");
    // Processes of other tests use the default folder for their segments at the same time.
    Path segments = Files.createTempDirectory(Path.of("/dev/shm"), "process-training-");

    for (String transport : List.of("stream", "shared")) {
      List<String> words = new ArrayList<>(length);
      words.addAll(List.of("--set", "exchange.transport=" + transport));
      words.addAll(List.of("--set", "exchange.sharedFolder=" + segments));
      words.addAll(List.of(more));
      CommandRun processes = CommandRun.of(arguments(job, transport, words.toArray(String[]::new)));
      assertEquals(0, processes.exit(), processes.err());
      assertEquals(bits, summary(transport).getString("parametersHash"), transport);
      assertEquals(
          transport.equals("shared"), sharing(folder.resolve(transport)), "its logs say so");
    }
    assertEquals(List.of(), children());
    try (Stream<Path> left = Files.list(segments)) {
      assertEquals(List.of(), left.toList());
    }
    Files.delete(segments);
    return embedded;
  }

  @Test
  void shouldTrainOverStreamsWhenThereIsNoRoomForSharedMemory() throws IOException {
    CommandRun run =
        CommandRun.of(
            arguments(
                "digits-sync",
                "short",
                "--steps",
                "20",
                "--workers",
                "1",
                "--processes",
                "--set",
                "evaluator.count=0",
                "--set",
                "exchange.sharedFolder=" + folder.resolve("missing")));

    assertEquals(0, run.exit(), run.err());
    assertFalse(sharing(folder.resolve("short")));
    assertTrue(
        Files.readString(folder.resolve("short/logs/worker-0.log"))
            .contains("its tensors go over the stream"));
  }

  private static boolean sharing(Path run) throws IOException {
    try (Stream<Path> logs = Files.list(run.resolve("logs"))) {
      for (Path log : logs.filter(file -> file.toString().endsWith(".log")).toList()) {
        if (Files.readString(log).contains("go through memory in")) {
          return true;
        }
      }
    }
    return false;
  }

  @Test
  void shouldExitSoonAndLogNoTraceWhenTheJobIsOver() throws Exception {
    Path over = folder.resolve("over");
    RunProcess run =
        RunProcess.train(
            over,
            "--processes",
            "--steps",
            "30",
            "--set",
            "servers.count=2",
            "--set",
            "data.train=2000",
            "--set",
            "data.test=500");
    int exit;
    long exitMillis;
    try {
      exit = run.exit();
      exitMillis = System.currentTimeMillis();
    } finally {
      run.close();
    }

    assertEquals(0, exit, run.output());
    JsonObject finished =
        Files.readAllLines(over.resolve("events.jsonl")).stream()
            .map(JsonObject::new)
            .filter(event -> event.getString("type").equals("jobFinished"))
            .findFirst()
            .orElseThrow();
    long lasted = exitMillis - finished.getLong("timeMillis");
    assertTrue(lasted < EXIT_MILLIS, "it exited %d ms after the job's end".formatted(lasted));
    assertEquals(List.of(), troubleIn(over.resolve("run.log")));
    for (String role : List.of("server-0", "server-1", "worker-0", "worker-1")) {
      assertEquals(List.of(), troubleIn(over.resolve("logs/" + role + ".log")), role);
    }
    assertFalse(
        Files.exists(over.resolve("logs/evaluator-0.log")), "it runs beside the coordinator");
    assertTrue(
        Files.readString(over.resolve("run.log")).contains("evaluator 0 admitted"),
        "it runs beside the coordinator");
    assertEquals(30, summary("over").getLong("version"));
  }

  @Test
  void shouldContinueWhenAWorkerSleptLongerThanTheWait() throws Exception {
    ProcessRun run =
        ProcessRun.start(
            folder.resolve("run"),
            "digits-sync",
            "timeline=true",
            "steps=200",
            "evaluator.every=3",
            "exchange.suspectMillis=1000",
            "exchange.evictMillis=4000",
            "cluster.port=" + FreePort.forCluster());
    run.await(() -> run.count("evaluated") > 0);
    ProcessHandle sleeper = run.process("worker", 0);

    ProcessRun.signal("STOP", sleeper);
    run.await(() -> run.happened("memberSuspected", "worker", 0));
    ProcessRun.signal("CONT", sleeper);
    long before = run.count("evaluated");
    run.await(() -> run.count("evaluated") > before + 1);
    assertFalse(run.happened("memberLeft", "worker", 0), "suspected only");
    ProcessRun.signal("STOP", sleeper);
    run.await(() -> run.happened("memberLeft", "worker", 0));
    ProcessRun.signal("CONT", sleeper);
    run.await(() -> run.happened("memberJoined", "worker", 1));
    CommandRun ended = run.ended();

    assertEquals(0, ended.exit(), ended.err());
    assertTrue(run.happened("memberJoined", "worker", 1), ended.out());
    Trace trace = Trace.read(folder.resolve("run/timeline.json"));
    double waited = Math.max(trace.longest("worker 0", "wait"), trace.longest("worker 1", "wait"));
    assertTrue(waited > 3, "nobody seems to have waited for the one that slept: " + waited);
    assertEquals(200, summary("run").getLong("version"));
    assertTrue(summary("run").getDouble("accuracy") > 60, summary("run").encode());
  }

  private String[] arguments(String job, String run, String... options) {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("train", "conf/" + job + ".json"));
    arguments.addAll(List.of("--run-dir", folder.resolve(run).toString()));
    arguments.addAll(List.of("--set", "data.train=2000", "--set", "data.test=500"));
    arguments.addAll(List.of(options));
    return arguments.toArray(String[]::new);
  }

  /**
   * Returns lines of stack traces, and Hazelcast's own lines, which name the cluster and are
   * warnings or errors.
   */
  private static List<String> troubleIn(Path log) throws IOException {
    return Files.readAllLines(log).stream()
        .filter(line -> line.startsWith("\tat ") || line.contains("[vertigrad-digits-sync] ["))
        .toList();
  }

  private static List<ProcessHandle> children() {
    return ProcessHandle.current().children().filter(ProcessHandle::isAlive).toList();
  }

  private JsonObject summary(String run) throws IOException {
    return new JsonObject(Files.readString(folder.resolve(run).resolve("summary.json")));
  }
}
