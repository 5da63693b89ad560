package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.cluster.FreePort;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what a run in one JVM saves at SIGTERM, with every kind of strategy. */
@Tag("slow")
final class InterruptedTrainingTest {

  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int TERMINATED = 143;

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource({
    "digits-sync, workers.count=2, 1",
    "digits-async, workers.count=2, 1",
    "digits-ssp, workers.count=2, 1",
    "digits-ssp, 'strategy={\"name\":\"ssp\",\"staleness\":0}', 1",
    "digits-ring, workers.count=2, 2",
    "digits-ring, 'strategy={\"name\":\"allreduce\"}', 2",
    "digits-ring, 'strategy={\"name\":\"gossip\"}', 0",
    "digits-ring, 'strategy={\"name\":\"local\"}', 2",
    "digits-pipeline, workers.count=2, 2"
  })
  void shouldSaveTheModelAndTheStateOfTheStrategy(String job, String setting, int checkpoints)
      throws Exception {
    Path run = folder.resolve("run");

    CommandRun ended = interrupted(run, "conf/" + job + ".json", "--set", setting);

    assertEquals(TERMINATED, ended.exit(), ended.err());
    assertFalse(ended.out().contains("is still in a step"), ended.out());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals("interrupted", summary.getString("state"));
    assertEquals(200, summary.getInteger("testSamples"), summary.encode());
    assertEquals(summary.getString("parametersHash"), hashOf(run.resolve("model.zip")));
    List<?> files = checkpoints == 0 ? List.of() : summary.getJsonArray("checkpoints").getList();
    assertEquals(checkpoints, files.size(), ended.out());
    CheckpointFolder kept = new CheckpointFolder(run.resolve("checkpoints"), 3);
    for (int shard = 0; shard < checkpoints; shard++) {
      long version = kept.allValid(shard, Assertions::fail).get(0).version();
      assertEquals(summary.getLong("version"), version);
    }
    assertTrue(Files.readString(run.resolve("events.jsonl")).contains("jobStopped"));
    assertTrue(summary.getLong("samples") > 0, summary.encode());
  }

  @Test
  void shouldCompareAndResumeAnInterruptedRun() throws Exception {
    Path run = folder.resolve("a run");
    List<String> paced = new ArrayList<>(List.of("--set", "steps=300"));
    Pace.of(run).settings(3).forEach(setting -> paced.addAll(List.of("--set", setting)));
    CommandRun ended = interrupted(run, "conf/digits-sync.json", paced.toArray(String[]::new));
    Pace.of(run).release();
    PastedCommand next = PastedCommand.after("go on with it:", ended.out());
    String other = folder.resolve("other").toString();
    CommandRun.of("train", "--steps", "2", "--run-dir", other, "--no-dashboard");
    CommandRun compared = CommandRun.of("compare", run.toString(), other);
    assertKeepsWhatIsThereWhenAResumeEndsEarly(run);

    CommandRun on = next.run("--quiet");

    assertEquals(0, compared.exit(), compared.err());
    assertTrue(compared.out().matches("(?s).*\nstate +interrupted +finished\n.*"), compared.out());
    assertEquals(List.of("resume", run.toString()), next.words());
    assertEquals(0, on.exit(), on.err());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals("finished", summary.getString("state"));
    assertEquals(300, summary.getLong("version"));
    assertTrue(summary.getLong("resumedAtVersion") > 0, summary.encode());
    assertTrue(summary.getDouble("samplesPerSecond") > 0, summary.encode());
  }

  private void assertKeepsWhatIsThereWhenAResumeEndsEarly(Path run) throws Exception {
    String summary = Files.readString(run.resolve("summary.json"));
    String hash = hashOf(run.resolve("model.zip"));
    String launch = Files.readString(run.resolve("launch.json"));
    int reported = read(run).split("serverProgress", -1).length;
    long version = new JsonObject(summary).getLong("version");
    // Nobody joins as the worker, so training never starts.
    Files.writeString(
        run.resolve("launch.json"), new JsonObject(launch).put("workersHere", 0).encode());

    CommandRun early =
        terminated(
            () -> read(run).split("serverProgress", -1).length > reported,
            List.of("resume", run.toString()));

    assertEquals(TERMINATED, early.exit(), early.err());
    assertEquals(summary, Files.readString(run.resolve("summary.json")), early.out());
    assertEquals(hash, hashOf(run.resolve("model.zip")));
    assertTrue(
        early.out().contains("ended at version " + version + ": summary and model stay those of"),
        early.out());
    Files.writeString(run.resolve("launch.json"), launch);
  }

  @Test
  void shouldReplayAnInterruptedRunToItsEnd() throws Exception {
    Path run = folder.resolve("a run");
    interrupted(run, "conf/digits-sync.json");
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));

    List<JsonObject> states = replayed(run);

    JsonObject end = states.get(states.size() - 1);
    assertEquals("waiting", states.get(0).getString("phase"));
    assertTrue(states.stream().anyMatch(state -> state.getString("phase").equals("running")));
    assertEquals("interrupted", end.getString("phase"));
    for (String key : List.of("version", "samples", "seconds", "accuracy", "testSamples")) {
      assertEquals(summary.getValue(key), end.getValue(key), end::encode);
    }
    for (int i = 1; i < states.size(); i++) {
      long before = states.get(i - 1).getLong("version", 0L);
      assertTrue(states.get(i).getLong("version", 0L) >= before, states.get(i).encode());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void shouldServeThePageAfterTheEndOfTheRunUntilASignal(boolean processes) throws Exception {
    Path folderOfRun = folder.resolve("run");
    List<String> options = new ArrayList<>(List.of("--steps", "20", "--keep-open"));
    options.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    options.addAll(List.of("--workers", "1", "--set", "evaluator.count=0"));
    if (processes) {
      options.add("--processes");
    }
    RunProcess run = RunProcess.train(folderOfRun, options.toArray(String[]::new));
    try {
      Awaitility.await()
          .atMost(LIMIT)
          .until(() -> run.output().contains("the page stays open at " + run.url()));
      HttpResponse<String> metrics =
          HttpClient.newHttpClient()
              .send(
                  HttpRequest.newBuilder(URI.create(run.url()).resolve("metrics")).build(),
                  HttpResponse.BodyHandlers.ofString());

      run.terminate();

      assertTrue(
          metrics.body().matches("(?s).*job_phase\\{[^}]*phase=\"finished\"[^}]*} 1.0.*"),
          metrics.body());
      assertEquals(0, run.exit(), run.output());
      assertFalse(run.output().contains("interrupted"), run.output());
      assertTrue(Files.exists(folderOfRun.resolve("summary.json")));
    } finally {
      run.close();
    }
  }

  @Test
  void shouldRefuseKeepOpenWithoutADashboard() {
    CommandRun run = CommandRun.of("train", "--keep-open", "--no-dashboard");

    assertEquals(2, run.exit());
    assertTrue(run.err().contains("--keep-open: there is no page to keep"), run.err());
  }

  @Test
  void shouldSayThatNothingWasTrainedBeforeTheFirstStep() throws Exception {
    Path run = folder.resolve("run");
    CommandRun ended =
        terminated(
            () -> Files.exists(run.resolve("run.log")) && read(run).contains("memberJoined"),
            run,
            "conf/digits-sync.json",
            "--workers-here",
            "0",
            "--set",
            "cluster.port=" + FreePort.forCluster());

    assertEquals(TERMINATED, ended.exit(), ended.err());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals("interrupted", summary.getString("state"));
    assertFalse(summary.containsKey("accuracy"));
    assertFalse(Files.exists(run.resolve("model.zip")));
    assertTrue(ended.out().contains("interrupted before the first step: nothing was trained"));
    List<JsonObject> states = replayed(run);
    assertEquals("interrupted", states.get(states.size() - 1).getString("phase"));
  }

  /**
   * Returns the job's states from the beginning on, as {@code vertigrad replay} sends them to a
   * browser.
   */
  private List<JsonObject> replayed(Path run) throws Exception {
    List<String> command = JavaCommand.of("512m", "replay", run.toString(), "--port", "0");
    Path said = folder.resolve("replay.txt");
    Process replay =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    Vertx vertx = Vertx.vertx();
    try {
      Pattern address = Pattern.compile("replay: (http://\\S+)");
      Awaitility.await()
          .atMost(LIMIT)
          .until(() -> !replay.isAlive() || address.matcher(Files.readString(said)).find());
      Matcher url = address.matcher(Files.readString(said));
      assertTrue(replay.isAlive() && url.find(), Files.readString(said));
      return new PageClient(vertx, URI.create(url.group(1))).states();
    } finally {
      vertx.close().toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
      replay.destroyForcibly();
    }
  }

  private CommandRun interrupted(Path run, String job, String... options) throws Exception {
    return terminated(() -> read(run).contains("\"type\":\"workerProgress\""), run, job, options);
  }

  /** Trains until the condition holds, then sends SIGTERM to this process itself. */
  private CommandRun terminated(Callable<Boolean> when, Path run, String job, String... options)
      throws Exception {
    List<String> arguments = new ArrayList<>(List.of("train", job, "--set", "steps=10000000"));
    arguments.addAll(List.of("--run-dir", run.toString(), "--no-dashboard"));
    arguments.addAll(List.of("--set", "data.train=1000", "--set", "data.test=200"));
    arguments.addAll(List.of(options));
    return terminated(when, arguments);
  }

  private static CommandRun terminated(Callable<Boolean> when, List<String> arguments)
      throws Exception {
    CompletableFuture<CommandRun> train =
        CompletableFuture.supplyAsync(() -> CommandRun.of(arguments.toArray(String[]::new)));
    Awaitility.await().atMost(LIMIT).until(() -> train.isDone() || when.call());
    // A command that has ended no longer handles signals, and SIGTERM would end this process.
    assertFalse(train.isDone(), () -> train.join().err());

    long self = ProcessHandle.current().pid();
    new ProcessBuilder("kill", "-TERM", Long.toString(self)).start().waitFor();

    return train.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  private static String read(Path run) throws IOException {
    Path events = run.resolve("events.jsonl");
    return Files.exists(events) ? Files.readString(events) : "";
  }

  private static String hashOf(Path model) {
    ModelConfig config = new ModelConfig(model.toString(), Map.of(), List.of(1, 28, 28), 10, 0, 1);
    try (Model restored = Engine.named("dl4j").model(config)) {
      return ParameterHash.of(restored);
    }
  }
}
