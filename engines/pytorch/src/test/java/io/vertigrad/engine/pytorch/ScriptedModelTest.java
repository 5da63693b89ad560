package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Block.Kind;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares TorchScript files of {@code modules.py}, in the same folder, with the numbers that
 * PyTorch 1.13 computed.
 */
class ScriptedModelTest {

  private static final JsonObject EXPECTED = expected();
  private static final double ROUNDING = 1e-6;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"normed", "tied"})
  void shouldComputeWhatPyTorchDoes(String name) {
    JsonObject expected = EXPECTED.getJsonObject(name);
    try (Model model = model(name + ".pt", shape(expected))) {
      float[] before = parameters(model);

      for (int repetition = 0; repetition < 4; repetition++) {
        double loss = model.gradient(batch(expected));

        assertEquals(expected.getDouble("loss"), loss, ROUNDING);
        assertGradient(model, expected.getJsonObject("gradient"));
        assertArrayEquals(before, parameters(model), 0, "statistics do not move by themselves");
      }
    }
  }

  @Test
  void shouldLeaveTheChangeOfStatisticsToSubtract() {
    JsonObject expected = EXPECTED.getJsonObject("normed");
    JsonObject statistics = expected.getJsonObject("statistics");
    try (Model model = model("normed.pt", shape(expected))) {
      float[] before = parameters(model);
      model.gradient(batch(expected));
      float[] gradient = gradient(model);

      int first = 0;
      int compared = 0;
      for (Block block : model.layout().blocks()) {
        JsonArray after = statistics.getJsonArray(block.name());
        for (int i = 0; after != null && i < block.length(); i++) {
          assertEquals(after.getFloat(i), before[first + i] - gradient[first + i], ROUNDING);
          compared++;
        }
        first += block.length();
      }
      assertEquals(8, compared, "mean and variance of four channels");
    }
  }

  /**
   * Expects parameters in module order, then statistics; counters and infinite tables are not
   * exchanged.
   */
  @Test
  void shouldKeepTheNamesOfTheModule() {
    try (Model model = model("normed.pt", List.of(1, 4, 4))) {
      assertEquals(
          List.of(
              new Block("conv.weight", List.of(4, 1, 3, 3), Kind.TRAINABLE),
              new Block("body.0.weight", List.of(4), Kind.TRAINABLE),
              new Block("body.0.bias", List.of(4), Kind.TRAINABLE),
              new Block("fc.weight", List.of(3, 16), Kind.TRAINABLE),
              new Block("fc.bias", List.of(3), Kind.TRAINABLE),
              new Block("unused.weight", List.of(2, 2), Kind.TRAINABLE),
              new Block("unused.bias", List.of(2), Kind.TRAINABLE),
              new Block("scale", List.of(1), Kind.STATISTIC),
              new Block("body.0.running_mean", List.of(4), Kind.STATISTIC),
              new Block("body.0.running_var", List.of(4), Kind.STATISTIC)),
          model.layout().blocks());
    }
  }

  @Test
  void shouldExchangeASharedWeightOnceAndNeverStepAFrozenOne() {
    try (Model model = model("tied.pt", List.of(16))) {
      assertEquals(
          List.of(
              new Block("first.weight", List.of(16, 16), Kind.TRAINABLE),
              new Block("last.weight", List.of(3, 16), Kind.TRAINABLE),
              new Block("last.bias", List.of(3), Kind.STATISTIC)),
          model.layout().blocks());

      model.gradient(batch(EXPECTED.getJsonObject("tied")));

      float[] gradient = gradient(model);
      assertArrayEquals(
          new float[3], Arrays.copyOfRange(gradient, gradient.length - 3, gradient.length), 0);
    }
  }

  @Test
  void shouldComputeWithTheWrittenParameters() {
    JsonObject expected = EXPECTED.getJsonObject("tied");
    try (Model model = model("tied.pt", shape(expected))) {
      model.writeParameters(0, FloatBuffer.allocate(model.layout().length()));

      assertEquals(Math.log(3), model.gradient(batch(expected)), ROUNDING);
      assertEquals(Math.log(3), model.score(batch(expected)).loss(), ROUNDING);
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> model.readParameters(model.layout().length() - 1, FloatBuffer.allocate(2)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"normed", "tied"})
  void shouldScoreWithTheStatisticsItHas(String name) {
    JsonObject expected = EXPECTED.getJsonObject(name);
    Batch batch = batch(expected);
    try (Model model = model(name + ".pt", shape(expected))) {
      model.gradient(batch);
      float[] stepped = parameters(model);
      float[] gradient = gradient(model);
      int trainable = model.layout().trainable();
      for (int i = trainable; i < stepped.length; i++) {
        stepped[i] -= gradient[i];
      }
      model.writeParameters(0, FloatBuffer.wrap(stepped));

      Score score = model.score(batch, 2);

      JsonArray outputs = expected.getJsonArray("outputs");
      float[] logits = new float[outputs.size()];
      for (int i = 0; i < logits.length; i++) {
        logits[i] = outputs.getFloat(i);
      }
      Score other = new CrossEntropy(FloatBuffer.wrap(logits), 3).score(batch.labels(), 2);
      assertEquals(other.lossSum(), score.lossSum(), 1e-5);
      assertEquals(other.correct(), score.correct());
      assertEquals(other.correctTop(), score.correctTop());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"normed", "tied"})
  void shouldBeTheSameModelWhenSavedAndLoaded(String name) throws IOException {
    JsonObject expected = EXPECTED.getJsonObject(name);
    Path saved = folder.resolve("saved.pt");
    float[] parameters;
    float[] gradient;
    List<Block> blocks;
    try (Model model = model(name + ".pt", shape(expected))) {
      model.writeParameters(2, FloatBuffer.wrap(new float[] {0.25f, -0.5f}));
      model.gradient(batch(expected));
      model.save(saved);
      parameters = parameters(model);
      gradient = gradient(model);
      blocks = model.layout().blocks();
    }

    try (Model model = load(saved, shape(expected))) {
      model.gradient(batch(expected));

      assertEquals(blocks, model.layout().blocks());
      assertArrayEquals(parameters, parameters(model), 0);
      assertArrayEquals(gradient, gradient(model), 0);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "frozen.pt|has no parameters to train, as after torch.jit.freeze",
        "double.pt|parameter first.weight is of float64, expected float32",
        "softmax.pt|its outputs are probabilities, expected logits",
        "state-dict.pt|holds values without code, such as a state_dict",
        "pickle.pt|is a pickle, not a TorchScript module",
        "expected.json|is no zip file",
        "nowhere.pt|no such file",
        "named.pt|libtorch cannot load it: ill formed octal specifier at gr____e = getattr(layers,",
        "raising.pt|does not take samples of shape [16]: ValueError: pictures are grey here",
        "asserting.pt|does not take samples of shape [16]: AssertionError at ops.prim.Raise",
      })
  void shouldReportAFileThatCannotBeTrained(String name, String message) throws URISyntaxException {
    Path file = path("normed.pt").resolveSibling(name);

    assertRefused(file, List.of(16), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"graph/mlp.pt2", "graph/mlp-2.6.pt2"})
  void shouldReportAProgramOfTorchExportWhenItsNameEndsInPt(String name) throws Exception {
    Path file = write(folder.resolve("model.pt"), Files.readAllBytes(path(name)));

    assertRefused(
        file,
        List.of(8),
        "is a program of torch.export, expected a TorchScript module; give the file a name that"
            + " ends in .pt2");
  }

  @Test
  void shouldReportADamagedFile() throws Exception {
    byte[] whole = Files.readAllBytes(path("tied.pt"));
    Path damaged = folder.resolve("damaged.pt");

    assertRefused(write(damaged, new byte[0]), List.of(16), "is empty");
    for (int length = 1; length < whole.length; length += 97) {
      assertRefused(write(damaged, Arrays.copyOf(whole, length)), List.of(16), "damaged.pt");
    }
  }

  /** Changes each byte in turn: Java reports an error, or no result depends on the byte. */
  @Test
  void shouldNeverLoadOtherWeightsWhenOneByteIsFlipped() throws Exception {
    byte[] whole = Files.readAllBytes(path("softmax.pt"));
    Path damaged = folder.resolve("damaged.pt");
    int refused = 0;
    for (int at = 0; at < whole.length; at++) {
      whole[at] ^= 0x55;
      Files.write(damaged, whole);
      whole[at] ^= 0x55;
      try {
        ScriptArchive.open(damaged);
      } catch (IllegalArgumentException e) {
        assertTrue(e.getMessage().contains("damaged.pt"), e.getMessage());
        refused++;
      }
    }
    assertTrue(refused > whole.length / 2, refused + " of " + whole.length);
  }

  @Test
  void shouldReportDataThatDoNotFit() throws URISyntaxException {
    assertRefused(
        path("normed.pt"), List.of(3, 4, 4), "does not take samples of shape [3, 4, 4]: ");
    assertRefused(path("tied.pt"), List.of(17), "does not take samples of shape [17]: mat1 and");
    ModelConfig classes =
        new ModelConfig(path("tied.pt").toString(), Map.of(), List.of(16), 4, 1, 1);
    assertEquals(
        "model %s: its output is [1, 3] for one sample of [16], expected [1, 4] for the 4 classes"
            .formatted(path("tied.pt")),
        assertThrows(IllegalArgumentException.class, () -> engine().model(classes)).getMessage());
  }

  @Test
  void shouldTakeBatchesOfAnySizeOneAfterTheOther() {
    Batch whole = batch(EXPECTED.getJsonObject("tied"));
    try (Model model = model("tied.pt", List.of(16))) {
      double all = model.gradient(whole);
      float[] gradient = gradient(model);
      double sum = 0;
      float[] mean = new float[gradient.length];
      for (int i = 0; i < whole.count(); i++) {
        Batch one =
            new Batch(
                Arrays.copyOfRange(whole.features(), i * 16, i * 16 + 16),
                new int[] {whole.labels()[i]},
                List.of(16),
                0);
        sum += model.gradient(one);
        assertEquals(model.score(one).correct(), model.correct());
        float[] part = gradient(model);
        for (int k = 0; k < mean.length; k++) {
          mean[k] += part[k] / whole.count();
        }
      }
      assertEquals(all, sum / whole.count(), ROUNDING);
      assertArrayEquals(gradient, mean, (float) ROUNDING);
      assertEquals(all, model.gradient(whole), 0);
    }
  }

  @Test
  void shouldFlattenSamplesWhenTheModuleWantsRows() {
    JsonObject expected = EXPECTED.getJsonObject("tied");
    try (Model model = model("tied.pt", List.of(1, 4, 4))) {
      assertEquals(expected.getDouble("loss"), model.gradient(batch(expected)), ROUNDING);
    }
  }

  @Test
  void shouldReportABatchThatDoesNotFit() {
    try (Model model = model("tied.pt", List.of(16))) {
      assertBatchRefused(model, 0, new int[0], "batch of 0 samples: expected at least 1");
      assertBatchRefused(model, 15, new int[1], "batch of 1 samples with 15 values, expected 16");
      assertBatchRefused(model, 16, new int[] {3}, "label 3 of sample 0: expected 0 to 2");
    }
  }

  @Test
  void shouldWarnWhenATraceHasFixedItsMode() throws URISyntaxException {
    assertEquals(
        List.of(
            "batch norm was traced in training mode and stays in it, in training and in"
                + " evaluation; export it with torch.jit.script"),
        ScriptArchive.open(path("traced.pt")).warnings());
    assertEquals(List.of(), ScriptArchive.open(path("normed.pt")).warnings());
  }

  @Test
  void shouldTrainATracedModule() {
    JsonObject expected = EXPECTED.getJsonObject("normed");
    try (Model model = model("traced.pt", shape(expected))) {
      assertEquals(expected.getDouble("loss"), model.gradient(batch(expected)), ROUNDING);
      assertGradient(model, expected.getJsonObject("gradient"));
    }
  }

  private static void assertGradient(Model model, JsonObject expected) {
    float[] gradient = gradient(model);
    int first = 0;
    for (Block block : model.layout().blocks()) {
      JsonArray there = expected.getJsonArray(block.name());
      for (int i = 0; i < block.length() && block.kind() == Kind.TRAINABLE; i++) {
        double value = there == null ? 0 : there.getDouble(i);
        assertEquals(value, gradient[first + i], ROUNDING, block.name() + " " + i);
      }
      first += block.length();
    }
  }

  private static void assertBatchRefused(Model model, int values, int[] labels, String message) {
    Batch batch = new Batch(new float[values], labels, List.of(16), 0);
    assertEquals(
        message,
        assertThrows(IllegalArgumentException.class, () -> model.gradient(batch)).getMessage());
  }

  private static void assertRefused(Path file, List<Integer> shape, String message) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> load(file, shape)).getMessage();
    assertTrue(found.startsWith("model " + file + ": "), found);
    assertTrue(found.contains(message), found);
  }

  private static Path write(Path file, byte[] bytes) throws IOException {
    return Files.write(file, bytes);
  }

  private static Model model(String name, List<Integer> shape) {
    try {
      return load(path(name), shape);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Model load(Path file, List<Integer> shape) {
    return engine().model(new ModelConfig(file.toString(), Map.of(), shape, 3, 1, 1));
  }

  private static Engine engine() {
    return Engine.named("pytorch");
  }

  private static Path path(String name) throws URISyntaxException {
    return Path.of(ScriptedModelTest.class.getResource(name).toURI());
  }

  private static float[] parameters(Model model) {
    float[] values = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(values));
    return values;
  }

  private static float[] gradient(Model model) {
    float[] values = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(values));
    return values;
  }

  private static List<Integer> shape(JsonObject expected) {
    return expected.getJsonArray("shape").stream().map(size -> (Integer) size).toList();
  }

  private static Batch batch(JsonObject expected) {
    JsonArray values = expected.getJsonArray("features");
    float[] features = new float[values.size()];
    for (int i = 0; i < features.length; i++) {
      features[i] = values.getFloat(i);
    }
    int[] labels =
        expected.getJsonArray("labels").stream().mapToInt(label -> (Integer) label).toArray();
    return new Batch(features, labels, shape(expected), 0);
  }

  private static JsonObject expected() {
    try (InputStream in = ScriptedModelTest.class.getResourceAsStream("expected.json")) {
      return new JsonObject(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
