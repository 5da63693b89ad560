package io.vertigrad.engine.keras;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Compares models that {@code src/test/python/models.py} wrote with the outputs that it computed by
 * the formulas in double precision.
 */
class KerasModelTest {

  private static final int SAMPLES = 4;

  @TempDir private Path folder;

  /** The content of a file's text: inputs and probabilities, row after row. */
  record Answers(float[] inputs, float[] probabilities) {}

  @ParameterizedTest
  @CsvSource({
    "digits, 1, 28, 28, 10",
    "graph, 3, 9, 7, 5",
    "first, 3, 6, 5, 3",
    "row, 12, 1, 1, 4",
    "pooled, 2, 7, 5, 4"
  })
  void shouldPredictAsTheFormulasWhenAModelIsLoaded(
      String name, int channels, int height, int width, int classes) throws Exception {
    List<Integer> shape = name.equals("row") ? List.of(12) : List.of(channels, height, width);
    Answers expected = answers(name);

    try (Model model = model(file(name), shape, classes)) {
      float[] found = model.probabilities(batch(expected, shape, classes), classes);

      assertArrayEquals(expected.probabilities(), found, 2e-6f);
    }
  }

  @Test
  void shouldKeepNamesAndKindsWhenAModelIsLoaded() throws Exception {
    try (Model model = model(file("digits"), List.of(1, 28, 28), 10)) {
      assertEquals(
          "[conv.b, conv.W, norm.gamma, norm.beta, hidden.W, hidden.b, classes.W, classes.b,"
              + " norm.mean, norm.var]",
          model.layout().blocks().stream().map(block -> block.name()).toList().toString());
    }
  }

  @Test
  void shouldContinueTrainingFromTheParametersOfTheFile() throws Exception {
    List<Integer> shape = List.of(1, 28, 28);
    Answers known = answers("digits");
    Batch batch = batch(known, shape, 10);

    try (Model model = model(file("digits"), shape, 10)) {
      double begin = model.score(batch).loss();
      for (int step = 0; step < 30; step++) {
        descend(model, batch, 0.1f);
      }

      assertEquals(crossEntropy(known, batch), begin, 1e-5);
      assertTrue(model.score(batch).loss() < begin / 2, "loss " + model.score(batch).loss());
    }
  }

  @Test
  void shouldHaveTheGradientOfItsLossWhenDifferencesAreTaken() throws Exception {
    List<Integer> shape = List.of(3, 6, 5);
    Batch batch = batch(answers("first"), shape, 3);
    try (Model model = model(file("first"), shape, 3)) {
      int[] some = {model.layout().blocks().get(0).shape().get(0), 5, 60};
      float[] gradient = gradient(model, batch);
      for (int element : some) {
        double slope =
            (lossAt(model, batch, element, 1e-3f) - lossAt(model, batch, element, -1e-3f)) / 2e-3;

        assertEquals(slope, gradient[element], 2e-3, "element " + element);
      }
    }
  }

  @Test
  void shouldPredictTheSameWhenSavedAsDl4jZip() throws Exception {
    List<Integer> shape = List.of(3, 9, 7);
    Batch batch = batch(answers("graph"), shape, 5);
    Path zip = folder.resolve("model.zip");
    float[] before;
    try (Model model = model(file("graph"), shape, 5)) {
      before = model.probabilities(batch, 5);
      model.save(zip);
    }

    try (Model again = model(zip, shape, 5)) {
      assertArrayEquals(before, again.probabilities(batch, 5), 0);
    }
  }

  private static double lossAt(Model model, Batch batch, int element, float by) {
    float[] values = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(values));
    float before = values[element];
    values[element] += by;
    model.writeParameters(0, FloatBuffer.wrap(values));
    double loss = model.gradient(batch);
    values[element] = before;
    model.writeParameters(0, FloatBuffer.wrap(values));
    return loss;
  }

  private static float[] gradient(Model model, Batch batch) {
    model.gradient(batch);
    float[] gradient = new float[model.layout().length()];
    model.readGradient(0, FloatBuffer.wrap(gradient));
    return gradient;
  }

  private static void descend(Model model, Batch batch, float rate) {
    float[] gradient = gradient(model, batch);
    float[] values = new float[gradient.length];
    model.readParameters(0, FloatBuffer.wrap(values));
    for (int i = 0; i < model.layout().trainable(); i++) {
      values[i] -= rate * gradient[i];
    }
    model.writeParameters(0, FloatBuffer.wrap(values));
  }

  private static double crossEntropy(Answers answers, Batch batch) {
    double sum = 0;
    int classes = answers.probabilities().length / SAMPLES;
    for (int i = 0; i < SAMPLES; i++) {
      sum -= Math.log(answers.probabilities()[i * classes + batch.labels()[i]]);
    }
    return sum / SAMPLES;
  }

  private static Model model(Path file, List<Integer> shape, int classes) {
    return Engine.named("dl4j")
        .model(new ModelConfig(file.toString(), Map.of(), shape, classes, 1, 1));
  }

  private static Batch batch(Answers answers, List<Integer> shape, int classes) {
    int[] labels = new int[SAMPLES];
    Arrays.setAll(labels, i -> i % classes);
    return new Batch(answers.inputs(), labels, shape, 0);
  }

  static Path file(String name) throws URISyntaxException {
    return Path.of(KerasModelTest.class.getResource(name + ".h5").toURI());
  }

  static Answers answers(String name) throws IOException, URISyntaxException {
    List<String> lines = Files.readAllLines(file(name).resolveSibling(name + ".txt"));
    List<Float> inputs = new ArrayList<>();
    List<Float> probabilities = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      for (String number : lines.get(i).split(" ")) {
        (i % 2 == 0 ? inputs : probabilities).add(Float.valueOf(number));
      }
    }
    return new Answers(array(inputs), array(probabilities));
  }

  private static float[] array(List<Float> values) {
    float[] array = new float[values.size()];
    for (int i = 0; i < array.length; i++) {
      array[i] = values.get(i);
    }
    return array;
  }
}
