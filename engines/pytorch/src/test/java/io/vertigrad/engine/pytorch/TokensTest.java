package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.training.TrainingJob;
import io.vertigrad.training.TrainingResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests modules that take ids of tokens as int64 and predict the next one at each position. */
class TokensTest {

  private static final int LENGTH = 5;
  private static final int TOKENS = 11;
  private static final JsonObject EXPECTED = expected();

  @TempDir Path folder;

  @Test
  void shouldComputeWhatPyTorchDoesAtEachPosition() {
    float[] gradient = new float[EXPECTED.getJsonArray("gradient").size()];
    for (int i = 0; i < gradient.length; i++) {
      gradient[i] = EXPECTED.getJsonArray("gradient").getFloat(i);
    }
    try (Model model = model(config(TOKENS, LENGTH, TOKENS))) {
      assertEquals(EXPECTED.getDouble("loss"), model.gradient(batch()), 1e-6);
      assertArrayEquals(gradient, Samples.gradient(model, batch()), 1e-6f);
      assertEquals(EXPECTED.getInteger("right"), model.correct());
      assertEquals(LENGTH, model.answers());

      Score score = model.score(batch(), 3);

      assertEquals(EXPECTED.getDouble("loss"), score.loss(), 1e-6);
      assertEquals(4, score.samples());
      assertEquals(4 * LENGTH, score.answers());
      assertEquals(EXPECTED.getInteger("right"), score.correct());
      assertTrue(score.correctTop() >= score.correct());
      assertEquals(Metric.PERPLEXITY, score.metric());
      assertEquals(Math.exp(EXPECTED.getDouble("loss")), score.metricValue(), 1e-5);
    }
  }

  @Test
  void shouldReportAMismatchBeforeTraining() {
    assertRefused(
        "tokens.pt: its output is [1, 5, 11] for one sample of [5], expected [1, 11] for the 11"
            + " classes",
        config(TOKENS, 1, TOKENS));
    assertRefused(
        "expected [1, 5, 12] for the 12 classes at each of 5 positions",
        config(12, LENGTH, TOKENS));
    assertRefused(
        "does not take samples of shape [5] of ids up to 11 as int64: ",
        config(TOKENS, LENGTH, 12));
    assertRefused("does not take samples of shape [5]: ", config(TOKENS, LENGTH, 0));
    ModelConfig mlp =
        new ModelConfig(
            "mlp", Map.of(), List.of(5), TOKENS, 1, 1, Loss.CROSS_ENTROPY, LENGTH, TOKENS);
    for (String engine : List.of("dl4j", "pytorch")) {
      assertTrue(
          assertThrows(
                  IllegalArgumentException.class, () -> Engine.named(engine).model(mlp).close())
              .getMessage()
              .contains("a class at each of 5 positions"));
    }
    assertTrue(
        assertThrows(
                IllegalArgumentException.class,
                () -> Engine.named("pytorch").split(mlp, SplitConfig.into(2)))
            .getMessage()
            .contains("a class at each of 5 positions"));
  }

  @Test
  void shouldRefuseABatchOfOtherTargets() {
    try (Model model = model(config(TOKENS, LENGTH, TOKENS))) {
      Batch one = new Batch(new float[2 * LENGTH], new int[2], List.of(LENGTH), 0);
      assertEquals(
          "batch of 2 samples with 2 labels, expected 10",
          assertThrows(IllegalArgumentException.class, () -> model.gradient(one)).getMessage());
    }
  }

  /** Returns ten words that follow each other in a cycle, so the next one is certain. */
  @Tag("slow")
  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldLearnATextOfAVocabulary(String strategy) throws Exception {
    List<String> words = List.of("one", "two", "three", "four", "five", "six", "seven", "eight");
    Path vocabulary =
        Files.writeString(
            folder.resolve("words"), "<unk>\n.\n,\n" + String.join("\n", words) + "\n");
    Files.writeString(
        folder.resolve("counting.txt"), (String.join(" ", words) + ", eleven.\n").repeat(60));
    JsonObject job =
        new JsonObject()
            .put("job", "counting")
            .put("engine", "pytorch")
            .put("steps", 120)
            .put(
                "data",
                new JsonObject()
                    .put("name", "text")
                    .put("directory", folder.resolve("counting.txt").toString())
                    .put("vocabulary", vocabulary.toString())
                    .put("length", LENGTH)
                    .put("stride", 1)
                    .put("predict", "each"))
            .put("model", new JsonObject().put("name", path("tokens.pt").toString()))
            .put("optimizer", new JsonObject().put("name", "adam").put("learningRate", 0.02))
            .put("strategy", new JsonObject().put("name", strategy))
            .put("workers", new JsonObject().put("count", 2).put("batch", 16))
            .put("evaluator", new JsonObject().put("every", 60).put("samples", 40));
    Vertx vertx = Vertx.vertx();
    try {
      TrainingResult result = get(get(TrainingJob.of(job).deploy(vertx)).result());

      assertEquals(TrainingResult.State.FINISHED, result.state());
      assertTrue(result.loss() < 0.2, result.toString());
      assertTrue(result.accuracy() > 95, result.toString());
    } finally {
      get(vertx.close());
    }
  }

  private static void assertRefused(String expected, ModelConfig config) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> model(config).close()).getMessage();
    assertTrue(found.contains(expected), found);
  }

  private static Batch batch() {
    JsonArray ids = EXPECTED.getJsonArray("ids");
    float[] features = new float[ids.size()];
    int[] labels = new int[ids.size()];
    for (int i = 0; i < labels.length; i++) {
      features[i] = ids.getInteger(i);
      labels[i] = EXPECTED.getJsonArray("next").getInteger(i);
    }
    return new Batch(labels.length / LENGTH, features, labels, new float[0], List.of(LENGTH), 0);
  }

  private static ModelConfig config(int classes, int positions, int tokens) {
    return new ModelConfig(
        path("tokens.pt").toString(),
        Map.of(),
        List.of(LENGTH),
        classes,
        1,
        1,
        Loss.CROSS_ENTROPY,
        positions,
        tokens);
  }

  private static Model model(ModelConfig config) {
    return Engine.named("pytorch").model(config);
  }

  private static Path path(String name) {
    try {
      return Path.of(TokensTest.class.getResource(name).toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static JsonObject expected() {
    try (InputStream in = TokensTest.class.getResourceAsStream("tokens.json")) {
      return new JsonObject(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }
}
