package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests Keras models that predict labels or values, trained by the loss that the job names. */
class KerasLossTest {

  private static final int SAMPLES = 4;

  @TempDir private Path folder;

  /**
   * Checks outputs against the files' known probabilities, a softmax of scores, which determine all
   * differences of the scores. Another activation at the end of the file must not change these
   * differences.
   */
  @ParameterizedTest
  @CsvSource({
    "row, sigmoid, BINARY_CROSS_ENTROPY",
    "row, linear, BINARY_CROSS_ENTROPY",
    "first, linear, BINARY_CROSS_ENTROPY",
    "pooled, sigmoid, BINARY_CROSS_ENTROPY",
    "row, linear, MEAN_SQUARED_ERROR",
    "first, linear, MEAN_SQUARED_ERROR",
    "pooled, linear, MEAN_SQUARED_ERROR"
  })
  void shouldPredictLabelsOrValuesWithTheirGradient(String name, String ending, Loss loss)
      throws Exception {
    KerasModelTest.Answers known = KerasModelTest.answers(name);
    int outputs = known.probabilities().length / SAMPLES;
    List<Integer> shape = shape(name);
    Batch batch = batch(known, shape, outputs);
    try (Model model = model(ending(name, ending), shape, outputs, loss)) {
      float[] found = model.probabilities(batch, outputs);

      for (int i = 0; i < found.length; i++) {
        int first = i / outputs * outputs;
        assertEquals(
            Math.log((double) known.probabilities()[i] / known.probabilities()[first]),
            score(found[i], loss) - score(found[first], loss),
            1e-4,
            "output " + i);
      }
      Score score = model.score(batch);
      assertEquals(loss(found, batch.targets(), loss), score.loss(), 1e-5);
      // A batch norm takes the batch's own mean and variance in training.
      double tolerance = name.equals("first") ? 0.5 : 1e-5;
      assertEquals(score.loss(), model.gradient(batch), tolerance);
      assertEquals(loss == Loss.MEAN_SQUARED_ERROR ? 0 : outputs, model.answers());
      assertSlopes(model, batch);
      Path zip = folder.resolve("saved.zip");
      model.save(zip);
      model.export("onnx", folder.resolve("saved.onnx"));
      try (Model again = model(zip, shape, outputs, loss)) {
        assertArrayEquals(found, again.probabilities(batch, outputs), 0);
        assertEquals(model.gradient(batch), again.gradient(batch), 0);
      }
    }
  }

  @Test
  void shouldReportTheExpectedActivationOfTheLoss() throws Exception {
    assertRefused(
        ending("row", "softmax"),
        "layer classes (Dense): the model ends with activation softmax, expected sigmoid or none for"
            + " model.loss binaryCrossEntropy",
        Loss.BINARY_CROSS_ENTROPY);
    assertRefused(
        ending("row", "sigmoid"),
        "layer classes (Dense): the model ends with activation sigmoid, expected none for model.loss"
            + " meanSquaredError",
        Loss.MEAN_SQUARED_ERROR);
    assertRefused(
        ending("pooled", "softmax"),
        "layer softmax (Activation): the model ends with a softmax, expected none for model.loss"
            + " meanSquaredError",
        Loss.MEAN_SQUARED_ERROR);
  }

  private static void assertRefused(Path file, String sentence, Loss loss) {
    String found =
        assertThrows(IllegalArgumentException.class, () -> new KerasFormat().read(file, 1, loss))
            .getMessage();
    assertEquals("model %s: %s".formatted(file, sentence), found);
  }

  private static void assertSlopes(Model model, Batch batch) {
    model.gradient(batch);
    float[] gradient = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    for (int element = 0; element < model.layout().trainable(); element += 5) {
      double slope =
          (lossAt(model, batch, element, 1e-3f) - lossAt(model, batch, element, -1e-3f)) / 2e-3;
      assertEquals(slope, gradient[element], 3e-3, "element " + element);
    }
    int last = model.layout().trainable() - 1;
    double slope = (lossAt(model, batch, last, 1e-3f) - lossAt(model, batch, last, -1e-3f)) / 2e-3;
    assertEquals(slope, gradient[last], 3e-3, "the last bias");
    assertTrue(Math.abs(gradient[last]) > 3e-3, "too small for a comparison: " + gradient[last]);
  }

  private static double lossAt(Model model, Batch batch, int element, float by) {
    FloatBuffer one = FloatBuffer.allocate(1);
    model.readParameters(element, one);
    float before = one.get(0);
    model.writeParameters(element, FloatBuffer.wrap(new float[] {before + by}));
    double loss = model.gradient(batch);
    model.writeParameters(element, FloatBuffer.wrap(new float[] {before}));
    return loss;
  }

  private static double score(double output, Loss loss) {
    return loss == Loss.MEAN_SQUARED_ERROR ? output : Math.log(output / (1 - output));
  }

  private static double loss(float[] found, float[] truth, Loss loss) {
    double sum = 0;
    for (int i = 0; i < found.length; i++) {
      sum +=
          loss == Loss.MEAN_SQUARED_ERROR
              ? Math.pow(found[i] - truth[i], 2)
              : -Math.log(truth[i] == 1 ? found[i] : 1 - found[i]);
    }
    return sum / found.length;
  }

  /** Returns the file with another activation at its end, in a text of the same length. */
  private Path ending(String name, String activation) throws Exception {
    String text =
        new String(Files.readAllBytes(KerasModelTest.file(name)), StandardCharsets.ISO_8859_1);
    String old = "\"activation\": \"softmax\"";
    if (text.contains(old)) {
      String other = "\"activation\": \"%s\"".formatted(activation);
      text = text.replace(old, other + " ".repeat(old.length() - other.length()));
    } else {
      assertEquals("linear", activation);
    }
    Path file = folder.resolve(name + "-" + activation + ".h5");
    return Files.write(file, text.getBytes(StandardCharsets.ISO_8859_1));
  }

  private static Model model(Path file, List<Integer> shape, int outputs, Loss loss) {
    return Engine.named("dl4j")
        .model(new ModelConfig(file.toString(), Map.of(), shape, outputs, 1, 1, loss, 1, 0));
  }

  private static Batch batch(KerasModelTest.Answers known, List<Integer> shape, int outputs) {
    float[] targets = new float[SAMPLES * outputs];
    for (int i = 0; i < targets.length; i++) {
      targets[i] = i * 7 % 3 == 0 ? 1 : 0;
    }
    return new Batch(SAMPLES, known.inputs(), new int[0], targets, shape, 0);
  }

  private static List<Integer> shape(String name) {
    return switch (name) {
      case "row" -> List.of(12);
      case "first" -> List.of(3, 6, 5);
      default -> List.of(2, 7, 5);
    };
  }
}
