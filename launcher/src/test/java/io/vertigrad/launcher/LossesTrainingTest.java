package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.tracking.EventFileParser;
import io.vertigrad.serving.Prediction;
import io.vertigrad.serving.Predictions;
import io.vertigrad.serving.Predictors;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests jobs with losses other than cross-entropy from the command line: they learn and report
 * their metric.
 */
@Tag("slow")
class LossesTrainingTest {

  @TempDir private static Path data;
  @TempDir private Path folder;

  /** Writes the columns: two inputs, two values computed from them, two labels. */
  @BeforeAll
  static void writeSamples() throws IOException {
    for (String name : List.of("train", "test")) {
      SplitMix64 random = new SplitMix64(name.length());
      StringBuilder lines = new StringBuilder();
      for (int i = 0; i < (name.equals("train") ? 640 : 200); i++) {
        double a = random.between(-1, 1);
        double b = random.between(-1, 1);
        lines.append(
            String.format(
                Locale.ROOT,
                "%.5f,%.5f,%.5f,%.5f,%d,%d%n",
                a,
                b,
                2 * a - b,
                Math.sin(3 * a) + b * b,
                a > b ? 1 : 0,
                a + b > 0.3 ? 1 : 0));
      }
      Files.writeString(data.resolve(name + ".csv"), lines);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldLearnARegressionAndReportItsError(String strategy) throws IOException {
    Path run = folder.resolve("run");

    CommandRun trained =
        train(
            run,
            values().put("epochs", 30),
            "--set",
            "strategy.name=" + strategy,
            "--set",
            "tracking.tensorboard=true");

    assertEquals(0, trained.exit(), trained.err());
    JsonObject summary = summary(run);
    double rmse = summary.getDouble("rmse");
    assertEquals(Math.sqrt(summary.getDouble("loss")), rmse, 1e-9);
    assertTrue(rmse < 0.2, "the values' own deviation is 1; found " + rmse);
    assertFalse(summary.containsKey("accuracy"), summary.encodePrettily());
    assertFalse(summary.containsKey("trainingAccuracy"), summary.encodePrettily());
    assertFalse(trained.out().contains("accuracy"), trained.out());
    JsonObject far = summary.getJsonArray("errors").getJsonObject(0);
    assertEquals("column 3", far.getString("name"));
    String figures =
        String.format(
            Locale.ROOT,
            "RMSE of column 3 %.4g (MAE %.4g), of column 4 ",
            far.getDouble("rmse"),
            far.getDouble("mae"));
    assertTrue(trained.out().contains(figures), trained.out());
    assertTrue(
        trained.out().contains("data: targets column 3, column 4, 4 inputs, 2 real values"),
        trained.out());
    assertTrue(summary.getJsonObject("baseline").getBoolean("beaten"), summary.encodePrettily());
    JsonObject tested = tests(run).get(0);
    assertEquals("rmse", tested.getString("metric"));
    assertEquals("NaN", tested.getValue("accuracy"));
    assertEquals(Math.sqrt(tested.getDouble("loss")), tested.getDouble("metricValue"), 1e-12);
    List<String> epochs = Files.readAllLines(run.resolve("epochs.log"));
    assertEquals(30, epochs.size());
    Map<String, Float> curves = curves(run);
    assertEquals((float) rmse, curves.get("test/rmse"));
    assertFalse(curves.containsKey("test/accuracy"), curves.toString());
    CommandRun evaluated = CommandRun.of("evaluate", run.toString());
    assertTrue(evaluated.out().startsWith(figures), evaluated.out() + evaluated.err());
  }

  @Test
  void shouldReportPricesInTheirUnitAndSayWhenGuessingIsAsGood() throws IOException {
    JsonObject job = prices(60);
    Path run = folder.resolve("prices");

    CommandRun trained = train(run, job);

    assertEquals(0, trained.exit(), trained.err());
    JsonObject summary = summary(run);
    double rmse = summary.getDouble("rmse");
    assertTrue(rmse < 60_000 && rmse > 1, "of deviations of 116,000: " + summary.encodePrettily());
    assertEquals(116_000, summary.getJsonObject("baseline").getDouble("value"), 25_000);
    assertTrue(trained.out().contains("RMSE of price "), trained.out());
    assertFalse(trained.out().contains("GUESSING"), trained.out());
    CommandRun predicted = CommandRun.of("predict", run.toString(), "4", "--json");
    JsonObject answer = new JsonObject(predicted.out());
    assertEquals(430_000, answer.getJsonArray("values").getDouble(0), 60_000, predicted.out());
    assertEquals("price", answer.getJsonArray("names").getString(0));
    JsonObject tested = new JsonObject(CommandRun.of("evaluate", run.toString(), "--json").out());
    assertEquals(rmse, tested.getDouble("rmse"), 1e-6 * rmse);
    Prediction served = served(run, JsonObject.of("rooms", 4));
    assertEquals(List.of("price"), served.names());
    assertEquals(answer.getJsonArray("values").getFloat(0), served.output(0, "price"), 1);

    Path again = folder.resolve("guesses");
    job.put("optimizer", JsonObject.of("name", "sgd", "learningRate", 1e-9)).put("epochs", 1);
    CommandRun guessed = train(again, job);

    assertFalse(summary(again).getJsonObject("baseline").getBoolean("beaten"), guessed.out());
    assertTrue(
        guessed.out().contains("NO BETTER THAN GUESSING: the mean of price always has RMSE "),
        guessed.out());
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce", "sync --processes"})
  void shouldSayOnceThatATrainingDiverged(String strategy) throws IOException {
    String[] words = strategy.split(" ");
    Path run = folder.resolve("run");
    JsonObject job =
        values()
            .put("optimizer", JsonObject.of("name", "sgd", "learningRate", 100))
            .put("strategy", JsonObject.of("name", words[0]))
            .put("steps", 2_000);

    CommandRun trained =
        words.length == 1 ? train(run, job) : train(run, job, words[1], "--host=127.0.0.1");

    assertEquals(1, trained.exit(), trained.out() + trained.err());
    String screen = trained.out() + trained.err();
    List<String> said = screen.lines().filter(line -> line.contains("diverged")).toList();
    assertEquals(1, said.size(), screen);
    assertTrue(
        said.get(0)
            .matches(
                "vertigrad: job \"losses\": worker [01]: training diverged at step \\d+: the loss is"
                    + " .*, and 20 gradients in sequence were refused\\. Lower"
                    + " optimizer\\.learningRate \\(100\\), to a tenth; log: .*run\\.log"),
        screen);
    assertTrue(screen.lines().filter(line -> line.contains("refused a")).count() <= 1, screen);
    assertFalse(screen.contains("started again"), screen);
    if (words[0].equals("sync")) {
      String log = Files.readString(run.resolve("run.log"));
      assertTrue(log.lines().filter(line -> line.contains(" refused step ")).count() > 1, log);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldLearnSeveralLabelsAndCountThemSingly(String strategy) throws IOException {
    Path run = folder.resolve("run");

    CommandRun trained =
        train(run, labels().put("epochs", 30), "--set", "strategy.name=" + strategy);

    assertEquals(0, trained.exit(), trained.err());
    JsonObject summary = summary(run);
    assertTrue(summary.getDouble("labelAccuracy") > 95, summary.encodePrettily());
    assertTrue(summary.getDouble("trainingAccuracy") > 90, summary.encodePrettily());
    assertFalse(summary.containsKey("accuracy"), summary.encodePrettily());
    assertTrue(trained.out().contains("label accuracy 9"), trained.out());
    Path tensors = folder.resolve("model.safetensors");
    CommandRun export =
        CommandRun.of(
            "export", run.toString(), "--to", "safetensors", "--output", tensors.toString());
    assertEquals(0, export.exit(), export.err());
    CommandRun predicted = CommandRun.of("predict", run.toString(), "0.5,-0.5,1.5,1.3");
    assertTrue(
        predicted.out().matches(".*: column 5 \\d+\\.\\d\\d %, column 6 \\d+\\.\\d\\d %\\s*"),
        predicted.out() + predicted.err());
    CommandRun evaluated =
        CommandRun.of("evaluate", tensors.toString(), "--data", data.toString(), "--json");
    JsonObject found = new JsonObject(evaluated.out());
    assertEquals(summary.getDouble("labelAccuracy"), found.getDouble("labelAccuracy"));
    assertEquals(summary.getDouble("loss"), found.getDouble("loss"), 1e-9);
  }

  @Test
  void shouldTrainARegressionInStagesToo() throws IOException {
    Path run = folder.resolve("run");
    JsonObject job =
        values()
            .put("epochs", 30)
            .put("pipeline", JsonObject.of("stages", 2, "microBatches", 2))
            .put("workers", JsonObject.of("batch", 32));

    CommandRun trained = train(run, job);

    assertEquals(0, trained.exit(), trained.err());
    assertTrue(summary(run).getDouble("rmse") < 0.2, summary(run).encodePrettily());
    assertFalse(trained.out().contains("accuracy"), trained.out());
    assertTrue(trained.out().contains("RMSE of column 3 "), trained.out());
  }

  @Test
  void shouldReportPricesOfAPipelineInTheirUnit() throws IOException {
    Path run = folder.resolve("prices");
    JsonObject job =
        prices(60)
            .put("pipeline", JsonObject.of("stages", 2, "microBatches", 2))
            .put("workers", JsonObject.of("batch", 32));

    CommandRun trained = train(run, job);

    assertEquals(0, trained.exit(), trained.err());
    double rmse = summary(run).getDouble("rmse");
    assertTrue(rmse < 60_000 && rmse > 1, summary(run).encodePrettily());
    assertTrue(trained.out().contains("RMSE of price "), trained.out());
    JsonObject baseline = summary(run).getJsonObject("baseline");
    assertEquals(116_000, baseline.getDouble("value"), 25_000);
    assertTrue(baseline.getBoolean("beaten"));
    JsonObject tested = new JsonObject(CommandRun.of("evaluate", run.toString(), "--json").out());
    assertEquals(rmse, tested.getDouble("rmse"), 1e-3 * rmse);
    assertEquals(
        summary(run).getDouble("loss"), tested.getDouble("loss"), 1e-3 * tested.getDouble("loss"));
  }

  @Test
  void shouldSetMetricsBesideEachOtherWhenRunsAreCompared() throws IOException {
    train(folder.resolve("values"), values().put("steps", 20));
    train(folder.resolve("labels"), labels().put("steps", 20));

    CommandRun compared =
        CommandRun.of(
            "compare", folder.resolve("values").toString(), folder.resolve("labels").toString());

    assertEquals(0, compared.exit(), compared.err());
    assertTrue(
        compared.out().lines().anyMatch(line -> line.matches("RMSE +\\d\\.\\d+ +-\\s*")),
        compared.out());
    assertTrue(
        compared
            .out()
            .lines()
            .anyMatch(line -> line.matches("label accuracy, % +- +\\d\\d\\.\\d+")),
        compared.out());
    assertTrue(compared.out().contains("label accuracy, %; RMSE after"), compared.out());
    assertFalse(compared.out().lines().anyMatch(line -> line.startsWith("accuracy")));
  }

  @Test
  void shouldRefuseIncompatibleSettings() throws IOException {
    assertRefused(
        "model.loss is crossEntropy, which takes classes as targets, but the data set 'csv' has"
            + " real values; expected meanSquaredError, or other data",
        values().put("model", JsonObject.of("name", "mlp")));
    assertRefused(
        "model.loss is binaryCrossEntropy, which takes labels of 0 or 1 as targets, but the data"
            + " set 'csv' has real values; expected meanSquaredError",
        values().put("model", JsonObject.of("name", "mlp", "loss", "binaryCrossEntropy")));
    assertRefused(
        "stop.accuracy is given, but model.loss is meanSquaredError, whose tests have no accuracy",
        values().put("stop", JsonObject.of("accuracy", 90)));
    assertRefused(
        "evaluator.topK is 1, but model.loss is binaryCrossEntropy",
        labels().put("evaluator", JsonObject.of("topK", 1)));
    assertRefused(
        "model.loss is \"huber\", expected one of crossEntropy, binaryCrossEntropy,"
            + " meanSquaredError",
        values().put("model", JsonObject.of("name", "mlp", "loss", "huber")));
  }

  private void assertRefused(String expected, JsonObject job) throws IOException {
    Path fresh = Files.createTempDirectory(folder, "refused");
    CommandRun run = train(fresh, job.put("steps", 5));

    assertTrue(run.exit() != 0, run.out());
    assertTrue((run.out() + run.err()).contains(expected), run.out() + run.err());
  }

  private static JsonObject values() {
    return job("meanSquaredError", JsonObject.of("targets", List.of(3, 4)));
  }

  /** Returns a job that learns prices of about 430,000 by the number of rooms. */
  private JsonObject prices(int epochs) throws IOException {
    List<String> rows = new ArrayList<>(List.of("rooms,price"));
    for (int i = 0; i < 300; i++) {
      rows.add("%d,%d".formatted(i % 9, 250_000 + 45_000 * (i % 9) + i % 7));
    }
    Path file = Files.write(folder.resolve("prices.csv"), rows);
    JsonObject job =
        job("meanSquaredError", new JsonObject().put("targets", "price"))
            .put("model", JsonObject.of("name", "mlp", "hidden", 16, "loss", "meanSquaredError"))
            .put("epochs", epochs);
    job.getJsonObject("data").put("directory", file.toString());
    return job;
  }

  /** Returns the answer of a predictor that holds the model of a run. */
  private static Prediction served(Path run, JsonObject sample) throws IOException {
    JsonObject config = new RunDirectory(run).readJob();
    config.put(
        "serving",
        JsonObject.of("file", new RunDirectory(run).model().orElseThrow().toString(), "port", 0));
    Vertx vertx = Vertx.vertx();
    try {
      Predictors predictors =
          Await.result(
              Predictors.deploy(vertx, JobConfig.read("run", config)), 30, "opening the model");
      assertTrue(predictors.url().isPresent());
      return Await.result(Predictions.of(vertx, "losses").predict(sample), 30, "the answer");
    } finally {
      Await.result(vertx.close(), 30, "closing");
    }
  }

  private static JsonObject labels() {
    return job("binaryCrossEntropy", JsonObject.of("labels", List.of(5, 6)));
  }

  private static JsonObject job(String loss, JsonObject columns) {
    return new JsonObject()
        .put("job", "losses")
        .put("data", columns.put("name", "csv").put("directory", data.toString()))
        .put("model", JsonObject.of("name", "mlp", "hidden", 32, "loss", loss))
        .put("optimizer", JsonObject.of("name", "adam", "learningRate", 0.01))
        .put("workers", JsonObject.of("count", 2, "batch", 16))
        .put("evaluator", JsonObject.of("everyEpochs", 1, "samples", 100));
  }

  private CommandRun train(Path run, JsonObject job, String... more) throws IOException {
    Path file = folder.resolve("losses.json");
    Files.writeString(file, job.encode());
    List<String> arguments =
        new ArrayList<>(List.of("train", file.toString(), "--run-dir", run.toString()));
    arguments.addAll(List.of(more));
    return CommandRun.of(arguments.toArray(String[]::new));
  }

  private static JsonObject summary(Path run) throws IOException {
    return new JsonObject(Files.readString(run.resolve("summary.json")));
  }

  private static List<JsonObject> tests(Path run) throws IOException {
    return Files.readAllLines(run.resolve("events.jsonl")).stream()
        .map(JsonObject::new)
        .filter(event -> event.getString("type").equals("evaluated"))
        .toList();
  }

  private static Map<String, Float> curves(Path run) throws IOException {
    try (Stream<Path> files = Files.list(run)) {
      Path file =
          files
              .filter(found -> found.getFileName().toString().startsWith("events.out.tfevents."))
              .findFirst()
              .orElseThrow();
      Map<String, Float> last = new HashMap<>();
      EventFileParser.parse(file).forEach(event -> last.putAll(event.values()));
      return last;
    }
  }
}
