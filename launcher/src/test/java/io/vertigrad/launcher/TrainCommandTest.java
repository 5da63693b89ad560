package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class TrainCommandTest {

  private static final List<String> TOP_LEVEL =
      List.of(
          "strategy",
          "workers",
          "steps",
          "samples",
          "samplesPerSecond",
          "secondsComputing",
          "secondsExchanging",
          "staleness",
          "accuracy",
          "loss",
          "seed",
          "versions",
          "gitRevision",
          "parametersHash");

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"digits-sync", "digits-async", "digits-ssp"})
  void shouldTrainAndKeepTheRunWhenJobIsSmall(String job) throws IOException {
    Path run = folder.resolve(job);

    CommandRun result = train(run, "conf/" + job + ".json", "--steps", "40");

    assertEquals(0, result.exit(), result.err());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    TOP_LEVEL.forEach(key -> assertTrue(summary.containsKey(key), key + " in " + summary));
    assertTrue(summary.getDouble("accuracy") > 30, "ten classes, 10 % is chance: " + summary);
    assertEquals(500, summary.getInteger("testSamples"));
    assertTrue(result.out().contains("on the whole test set (500 samples)"), result.out());
    assertEquals(summary.getString("parametersHash"), hashOf(run.resolve("model.zip")));
    assertTrue(Files.readString(run.resolve("events.jsonl")).contains("\"type\":\"jobFinished\""));
    String log = Files.readString(run.resolve("run.log"));
    assertTrue(log.matches("(?s).*: accuracy [0-9.]+ %, loss [0-9.]+ .500 test.*"), log);
    assertTrue(log.matches("(?s).*the job is over: .*\"accuracy\":[0-9.]+.*"), log);
    JsonObject ran = new JsonObject(Files.readString(run.resolve("job.json")));
    assertEquals(40, ran.getInteger("steps"));
    JsonObject workers = ran.getJsonObject("workers");
    assertEquals(
        40L * workers.getInteger("count") * workers.getInteger("batch"),
        summary.getLong("samples"));
  }

  @Test
  void shouldTrainAnotherEpochWithMoreWorkersWhenTheRunsFileIsTrainedAgain() throws IOException {
    Path two = folder.resolve("two");
    Path four = folder.resolve("four");

    CommandRun first = train(two, "conf/digits-sync.json", "--epochs", "1");
    CommandRun second =
        CommandRun.of(
            "train",
            two.resolve("job.json").toString(),
            "--run-dir",
            four.toString(),
            "--workers",
            "4",
            "--set",
            "checkpoint.directory=null");

    assertEquals(0, first.exit(), first.err());
    assertEquals(0, second.exit(), second.err());
    assertTrue(first.out().contains("1 epoch of 2,048 training samples: 16 steps per worker"));
    JsonObject summary = new JsonObject(Files.readString(four.resolve("summary.json")));
    assertEquals(8, summary.getInteger("steps"));
    assertEquals(2_048, summary.getInteger("samples"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"digits-sync", "digits-ring", "digits-pipeline"})
  void shouldEndWellAndSayWhyWhenTheAccuracyIsReached(String job) throws IOException {
    Path run = folder.resolve(job);

    CommandRun result =
        train(run, "conf/" + job + ".json", "--steps", "100000", "--set", "stop.accuracy=30");

    assertEquals(0, result.exit(), result.err());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    JsonObject stopped = summary.getJsonObject("stopped");
    assertEquals("accuracy", stopped.getString("reason"));
    assertEquals(30, stopped.getDouble("threshold"));
    assertTrue(stopped.getDouble("value") >= 30, summary.encode());
    assertTrue(stopped.getLong("version") <= summary.getLong("version"), summary.encode());
    assertTrue(summary.getLong("version") < 10_000, summary.encode());
    assertTrue(summary.getDouble("seconds") > 0, summary.encode());
    assertEquals(500, summary.getInteger("testSamples"));
    assertEquals(summary.getString("parametersHash"), hashOf(run.resolve("model.zip")));
    assertTrue(result.out().contains(" % reached stop.accuracy, 30.0"), result.out());
    assertTrue(Files.readString(run.resolve("events.jsonl")).contains("\"jobEnding\""));
  }

  @Test
  void shouldTestTheModelItselfWhenThereIsNoEvaluator() throws IOException {
    Path run = folder.resolve("run");

    CommandRun result =
        train(
            run,
            "conf/digits-sync.json",
            "--steps",
            "5",
            "--set",
            "evaluator.count=0",
            "--set",
            "optimizer.schedule.epochs=0.2");

    assertEquals(0, result.exit(), result.err());
    assertTrue(
        result
            .out()
            .contains(
                "warning: optimizer.schedule.epochs is 0.200, but the run lasts 0.313 epochs"),
        result.out());
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    assertEquals(500, summary.getInteger("testSamples"));
  }

  @Test
  void shouldEndAtTheSameBitsWhenSyncIsRepeated() throws IOException {
    train(folder.resolve("a"), "conf/digits-sync.json", "--steps", "20");
    train(folder.resolve("b"), "conf/digits-sync.json", "--steps", "20");

    assertEquals(hashOf(folder.resolve("a/model.zip")), hashOf(folder.resolve("b/model.zip")));
  }

  @Test
  void shouldPrintOnlyJsonWhenAskedTo() {
    CommandRun result =
        train(folder.resolve("run"), "conf/digits-sync.json", "--steps", "5", "--json");

    List<String> types =
        result.out().lines().map(line -> new JsonObject(line).getString("type")).toList();
    assertTrue(types.contains("jobStarted") && types.contains("jobFinished"), types.toString());
    assertEquals("summary", types.get(types.size() - 1));
  }

  @Test
  void shouldPrintOnlyTheResultWhenQuiet() {
    CommandRun result =
        train(
            folder.resolve("run"),
            "conf/digits-sync.json",
            "--steps=5",
            "--quiet",
            "--name=five steps");

    assertTrue(result.out().startsWith("accuracy "), result.out());
    assertTrue(result.out().contains("; saved " + folder.resolve("run")), result.out());
    assertEquals(1, result.out().lines().count(), result.out());
    assertEquals("", result.err());
    assertTrue(runs().contains("run (five steps)  finished"), this::runs);
  }

  private String runs() {
    return CommandRun.of("runs", "--in", folder.toString()).out();
  }

  @Test
  void shouldRefuseANameOfSeveralLinesBeforeTheRunHasAFolder() {
    CommandRun result = train(folder.resolve("run"), "conf/digits-sync.json", "--name=a\nb");

    assertEquals(2, result.exit());
    assertTrue(result.err().contains("--name: found \""), result.err());
    assertTrue(result.err().contains("expected up to 60 characters on one line"), result.err());
    assertTrue(Files.notExists(folder.resolve("run")), result.err());
  }

  private static CommandRun train(Path run, String file, String... options) {
    List<String> arguments = new java.util.ArrayList<>();
    arguments.addAll(List.of("train", file, "--run-dir", run.toString()));
    arguments.addAll(List.of("--set", "data.train=2048", "--set", "data.test=500"));
    arguments.addAll(List.of(options));
    return CommandRun.of(arguments.toArray(String[]::new));
  }

  private static String hashOf(Path model) {
    ModelConfig config = new ModelConfig(model.toString(), Map.of(), List.of(1, 28, 28), 10, 0, 1);
    try (Model restored = Engine.named("dl4j").model(config)) {
      return ParameterHash.of(restored);
    }
  }
}
