package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the behaviour that every engine must have, on the built-in networks. */
abstract class EngineContract {

  private static final double FULL_BATCH = 2e-6;
  private static final int CLASSES = 10;
  private static final long SECONDS = 60;

  @TempDir Path folder;

  abstract Engine engine();

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldAverageOverTheBatch(String name) {
    Batch whole = Samples.batch(64, shape(name), CLASSES, 4);
    try (Model model = model(name)) {
      float[] mean = new float[model.layout().length()];
      double loss = 0;
      for (int part = 0; part < 4; part++) {
        Batch some = Samples.part(whole, part * 16, part * 16 + 16);
        float[] gradient = Samples.gradient(model, some);
        loss += model.gradient(some) / 4;
        for (int i = 0; i < mean.length; i++) {
          mean[i] += gradient[i] / 4;
        }
      }

      assertTrue(Samples.distance(Samples.gradient(model, whole), mean) < FULL_BATCH);
      assertEquals(model.gradient(whole), loss, FULL_BATCH);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldRepeatBitForBitOnThreadsSideBySide(String name) throws Exception {
    Batch batch = Samples.batch(32, shape(name), CLASSES, 5);
    List<CompletableFuture<float[]>> found = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      found.add(CompletableFuture.supplyAsync(() -> gradientsOfNew(name, batch)));
    }

    float[] first = found.get(0).get(SECONDS, TimeUnit.SECONDS);
    assertArrayEquals(first, found.get(1).get(SECONDS, TimeUnit.SECONDS), 0);
    assertArrayEquals(first, found.get(2).get(SECONDS, TimeUnit.SECONDS), 0);
  }

  private float[] gradientsOfNew(String name, Batch batch) {
    try (Model model = model(name)) {
      for (int i = 0; i < 4; i++) {
        model.gradient(batch);
      }
      return Samples.gradient(model, batch);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldKeepParametersUnchangedWhenComputing(String name) {
    Batch batch = Samples.batch(8, shape(name), CLASSES, 5);
    try (Model model = model(name)) {
      float[] before = Samples.parameters(model);

      model.gradient(batch);
      model.score(batch);
      float[] gradient = Samples.gradient(model, batch);

      assertArrayEquals(before, Samples.parameters(model), 0);
      assertArrayEquals(gradient, Samples.gradient(model, batch), 0);
    }
  }

  @Test
  void shouldLeaveTheDifferenceToSubtractWhenElementsAreStatistics() {
    Batch batch = Samples.batch(8, shape("resnet20"), CLASSES, 5);
    try (Model model = model("resnet20")) {
      float[] before = Samples.parameters(model);
      float[] gradient = Samples.gradient(model, batch);
      int first = 0;
      for (Block block : model.layout().blocks()) {
        if (block.name().equals("stem-bn.var")) {
          // The variance moves from 1 by a tenth towards that of the batch, which is above 0.
          float after = before[first] - gradient[first];
          assertTrue(after > 0.9f, "variance " + after);
          assertFalse(gradient[first] == 0);
        }
        first += block.length();
      }
      assertEquals(first, before.length);
    }
  }

  @Test
  void shouldReadAndWriteAnyRange() {
    try (Model model = model("convnet")) {
      float[] before = Samples.parameters(model);

      model.writeParameters(25, FloatBuffer.wrap(new float[] {1, 2, 3}));
      FloatBuffer range = FloatBuffer.allocate(5);
      model.readParameters(24, range);

      assertFalse(range.hasRemaining());
      assertArrayEquals(new float[] {before[24], 1, 2, 3, before[28]}, range.array(), 0);
      int last = model.layout().length() - 1;
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> model.readParameters(last, FloatBuffer.allocate(2)));
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> model.writeParameters(-1, FloatBuffer.allocate(2)));
    }
  }

  @Test
  void shouldScoreAnyNumberOfSamples() {
    Batch batch = Samples.batch(11, shape("convnet"), CLASSES, 6);
    try (Model model = model("convnet")) {
      Score score = model.score(batch, 2);
      Score parts =
          model
              .score(Samples.part(batch, 0, 4), 2)
              .plus(model.score(Samples.part(batch, 4, 11), 2));

      assertEquals(11, score.samples());
      assertEquals(model.gradient(batch), score.loss(), 1e-6);
      assertEquals(score.correct(), model.correct());
      assertEquals(score.correct(), parts.correct());
      assertEquals(score.correctTop(), parts.correctTop());
      assertEquals(score.lossSum(), parts.lossSum(), 1e-5);
    }
  }

  @Test
  void shouldPredictTheProbabilitiesThatItScores() {
    Batch batch = Samples.batch(5, shape("mlp"), CLASSES, 6);
    try (Model model = model("mlp")) {
      float[] probabilities = model.probabilities(batch, CLASSES);

      assertEquals(5 * CLASSES, probabilities.length);
      for (int i = 0; i < 5; i++) {
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) {
          sum += probabilities[i * CLASSES + k];
        }
        assertEquals(1, sum, 1e-6);
        double loss = model.score(Samples.part(batch, i, i + 1)).lossSum();
        assertEquals(Math.exp(-loss), probabilities[i * CLASSES + batch.labels()[i]], 1e-6);
      }
    }
  }

  @Test
  void shouldRefuseAFormatThatItDoesNotWrite() {
    try (Model model = model("mlp")) {
      assertTrue(
          assertThrows(
                  IllegalArgumentException.class,
                  () -> model.export("docx", folder.resolve("model.docx")))
              .getMessage()
              .contains("docx"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldFindTheSavedParametersInItsFile(String name) throws Exception {
    Batch batch = Samples.batch(16, shape(name), CLASSES, 6);
    Path file = folder.resolve(engine().modelFile("mlp"));
    float[] changed;
    Score score;
    try (Model model = model(name)) {
      changed = Samples.parameters(model);
      for (int i = 0; i < changed.length; i += 7) {
        changed[i] += 0.125f;
      }
      model.writeParameters(0, FloatBuffer.wrap(changed));
      score = model.score(batch);
      model.save(file);
    }

    ModelConfig saved = new ModelConfig(file.toString(), Map.of(), shape(name), CLASSES, 1, 1);
    check("{'name': '%s'}".formatted(file));
    try (Model model = engine().model(saved)) {
      assertArrayEquals(changed, Samples.parameters(model), 0);
      assertEquals(score.lossSum(), model.score(batch).lossSum(), 0);
    }
  }

  @Test
  void shouldReportABatchThatDoesNotFit() {
    try (Model model = model("convnet")) {
      assertRefused(model, 784, new int[] {10}, "label 10 of sample 0: expected 0 to 9");
      assertRefused(model, 783, new int[] {1}, "batch of 1 samples with 783 values, expected 784");
      assertRefused(model, 0, new int[0], "batch of 0 samples: expected at least 1");
    }
  }

  private static void assertRefused(Model model, int values, int[] labels, String message) {
    Batch batch = new Batch(new float[values], labels, List.of(1, 28, 28), 0);
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> model.gradient(batch)).getMessage());
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> model.score(batch)).getMessage());
  }

  @Test
  void shouldRefuseWhenAnotherThreadComputes() {
    Batch batch = Samples.batch(1, shape("convnet"), CLASSES, 6);
    try (Model model = model("convnet")) {
      CompletableFuture<Double> elsewhere =
          CompletableFuture.supplyAsync(() -> model.gradient(batch));

      ExecutionException failure =
          assertThrows(ExecutionException.class, () -> elsewhere.get(SECONDS, TimeUnit.SECONDS));
      assertTrue(failure.getMessage().contains("which made it"), failure.getMessage());
    }
  }

  @Test
  void shouldRefuseOptionsBeforeAnythingIsBuilt() {
    check("{'name': 'mlp', 'hidden': 5, 'layers': 2}");
    check("{'name': 'resnet20', 'shortcut': 'A'}");
    for (String wrong :
        List.of(
            "{'name': 'mlp', 'hidden': 0}",
            "{'name': 'mlp', 'shortcut': 'A'}",
            "{'name': 'convnet', 'hidden': 5}",
            "{'name': 'convnet', 'initialization': 'he'}",
            "{'name': 'resnet20', 'shortcut': 'C'}",
            "{'name': 'resnet'}",
            "{'name': 'nowhere/file'}")) {
      assertThrows(SettingsException.class, () -> check(wrong), wrong);
    }
  }

  @Test
  void shouldReportWhyTheModelCannotBeBuilt() {
    assertNotBuilt("mlp", Map.of("hidden", -1), List.of(1, 28, 28), "model mlp");
    assertNotBuilt("mlp", Map.of("width", 5), List.of(1, 28, 28), "width");
    assertNotBuilt("convnet", Map.of(), List.of(784), "model convnet: samples are [784], expected");
    assertNotBuilt("lenet", Map.of(), List.of(1, 28, 28), "'lenet'");
  }

  private void assertNotBuilt(
      String name, Map<String, Object> options, List<Integer> shape, String message) {
    ModelConfig config = new ModelConfig(name, options, shape, CLASSES, 1, 1);
    String found =
        assertThrows(IllegalArgumentException.class, () -> engine().model(config)).getMessage();
    assertTrue(found.contains(message), found);
  }

  @Test
  void shouldHaveARuleForEveryOptimizer() {
    for (String name : OptimizerConfig.NAMES) {
      OptimizerConfig config =
          OptimizerConfig.read(settings("{'name': '%s', 'learningRate': 0.5}".formatted(name)));
      float[] gradient = {1, -2, 4};
      engine().updateRule(config, 2).toStep(gradient, 0.5, 0);

      assertTrue(gradient[0] > 0 && gradient[1] < 0, name);
      assertEquals(4, gradient[2], 0, name);
    }
  }

  @Test
  void shouldReportItsDevice() {
    engine().prepare(1);

    assertEquals("1", engine().describe().get("threads"));
    assertTrue(engine().memory().residentBytes() > 1 << 20);
  }

  /** Checks options like a job file's section of which the name has been read. */
  private void check(String section) {
    Settings settings = settings(section);
    engine().check(settings.requiredString("name"), settings);
  }

  private Model model(String name) {
    return engine().model(new ModelConfig(name, Map.of(), shape(name), CLASSES, 1, 1));
  }

  private static List<Integer> shape(String name) {
    return name.equals("resnet20") ? List.of(3, 8, 8) : List.of(1, 28, 28);
  }

  private static Settings settings(String json) {
    return Settings.of("test", new JsonObject(json.replace('\'', '"')));
  }
}
