package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.BatchNormalization;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

class Dl4jModelTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final List<Integer> SMALL = List.of(1, 8, 8);
  private static final double TO_REFERENCE = 1e-5;
  private static final double TO_FULL_BATCH = 1e-6;

  @Test
  void shouldMatchTheReferenceWhenConvNet() {
    Model model = Samples.model("convnet", Map.of(), SMALL, 1);
    Batch batch = Samples.batch(7, SMALL, 10, 2);
    float[] parameters = Samples.parameters(model);

    float[] expected = ReferenceNetworks.gradient(ReferenceNetworks::convNet, parameters, batch);

    assertTrue(Samples.distance(expected, Samples.gradient(model, batch)) < TO_REFERENCE);
  }

  @Test
  void shouldMatchTheReferenceWhenMlp() {
    Model model = Samples.model("mlp", Map.of("hidden", 8), SMALL, 1);
    Batch batch = Samples.batch(7, SMALL, 10, 2);
    float[] parameters = Samples.parameters(model);

    float[] expected =
        ReferenceNetworks.gradient((p, b) -> ReferenceNetworks.mlp(p, b, 8), parameters, batch);

    assertTrue(Samples.distance(expected, Samples.gradient(model, batch)) < TO_REFERENCE);
  }

  @ParameterizedTest
  @CsvSource({"convnet, 1, 2", "mlp, 1, 2", "resnet20, 3, 43"})
  void shouldReportEachLayerWhenItsGradientIsFinal(String name, int channels, int layers) {
    List<Integer> shape = List.of(channels, 28, 28);
    Model model = Samples.model(name, Map.of(), shape, 1);
    Batch batch = Samples.batch(4, shape, 10, 2);
    int trainable = model.layout().trainable();
    float[] expected = Samples.gradient(model, batch);
    List<Integer> firsts = new ArrayList<>();
    float[] early = new float[trainable];

    double loss =
        model.gradient(
            batch,
            first -> {
              int end = firsts.isEmpty() ? trainable : firsts.get(firsts.size() - 1);
              assertTrue(first < end, first + " after " + firsts);
              model.readGradient(first, FloatBuffer.wrap(early, first, end - first));
              firsts.add(first);
            });

    assertEquals(layers, firsts.size(), "layers in " + firsts);
    assertEquals(0, firsts.get(layers - 1));
    assertArrayEquals(Arrays.copyOf(expected, trainable), early);
    assertEquals(model.gradient(batch), loss);
    assertEquals(layers, firsts.size(), "the listener was removed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldKeepTheOutputsOfAGradientWhereTheyAreThoseOfAPrediction(String name) {
    Model model = Samples.model(name, Map.of(), SMALL, 1);
    Batch batch = Samples.batch(7, SMALL, 10, 2);

    assertTrue(model.gradientOutputs().isEmpty());
    model.gradient(batch);

    assertArrayEquals(model.probabilities(batch, 10), model.gradientOutputs().orElseThrow(), 1e-6f);
  }

  @Test
  void shouldKeepNoOutputsOfAGradientWithBatchNorm() {
    Model model = Samples.model("resnet20", Map.of(), List.of(3, 8, 8), 1);

    model.gradient(Samples.batch(2, List.of(3, 8, 8), 10, 2));

    assertTrue(model.gradientOutputs().isEmpty());
  }

  @Test
  void shouldEndTheBackwardPassAlthoughTheListenerThrows() {
    Model model = Samples.model("mlp", Map.of("hidden", 8), SMALL, 1);
    Batch batch = Samples.batch(7, SMALL, 10, 2);
    float[] expected = Samples.gradient(model, batch);

    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                model.gradient(
                    batch,
                    first -> {
                      throw new IllegalStateException("at " + first);
                    }));

    assertEquals("at " + 8 * (SMALL.get(1) * SMALL.get(2) + 1), thrown.getMessage());
    float[] whole = new float[expected.length];
    model.readGradient(0, FloatBuffer.wrap(whole));
    assertArrayEquals(expected, whole);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldAverageOverTheBatchWhenSamplesAreRepeated(String name) {
    Model model = Samples.model(name, Map.of(), DIGIT, 1);
    Batch once = Samples.batch(1, DIGIT, 10, 3);
    float[] features = new float[4 * 784];
    for (int n = 0; n < 4; n++) {
      System.arraycopy(once.features(), 0, features, n * 784, 784);
    }
    int label = once.labels()[0];
    Batch repeated = new Batch(features, new int[] {label, label, label, label}, DIGIT, 0);

    float[] expected = Samples.gradient(model, once);

    assertTrue(Samples.distance(expected, Samples.gradient(model, repeated)) < TO_FULL_BATCH);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldEqualTheFullBatchWhenPartsAreAveraged(String name) {
    Model model = Samples.model(name, Map.of(), DIGIT, 1);
    Batch whole = Samples.batch(64, DIGIT, 10, 4);
    float[] mean = new float[model.layout().length()];
    for (int part = 0; part < 4; part++) {
      float[] gradient = Samples.gradient(model, Samples.part(whole, part * 16, part * 16 + 16));
      for (int i = 0; i < mean.length; i++) {
        mean[i] += gradient[i] / 4;
      }
    }

    assertTrue(Samples.distance(Samples.gradient(model, whole), mean) < TO_FULL_BATCH);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp"})
  void shouldRepeatBitForBitWhenSeedIsTheSame(String name) throws Exception {
    Batch batch = Samples.batch(32, DIGIT, 10, 5);
    float[] here = Samples.gradient(Samples.model(name, Map.of(), DIGIT, 9), batch);

    float[] there =
        CompletableFuture.supplyAsync(
                () -> Samples.gradient(Samples.model(name, Map.of(), DIGIT, 9), batch))
            .get(60, TimeUnit.SECONDS);

    assertArrayEquals(here, there, 0);
  }

  @Test
  void shouldReadAndWriteAnyRangeWhenAsked() {
    Model model = Samples.model("convnet", Map.of(), DIGIT, 1);
    float[] before = Samples.parameters(model);

    model.writeParameters(25, FloatBuffer.wrap(new float[] {1, 2, 3}));
    float[] range = new float[5];
    model.readParameters(24, FloatBuffer.wrap(range));

    assertArrayEquals(new float[] {before[24], 1, 2, 3, before[28]}, range, 0);
    assertThrows(
        IndexOutOfBoundsException.class, () -> model.readParameters(1959, FloatBuffer.allocate(2)));
  }

  @Test
  void shouldScoreAnyNumberOfSamplesWhenEvaluating() {
    Model model = Samples.model("convnet", Map.of(), DIGIT, 1);
    Batch batch = Samples.batch(11, DIGIT, 10, 6);

    Score score = model.score(batch);
    Score parts =
        model.score(Samples.part(batch, 0, 4)).plus(model.score(Samples.part(batch, 4, 11)));

    assertEquals(11, score.samples());
    assertEquals(model.gradient(batch), score.loss(), 1e-6);
    assertEquals(score.correct(), parts.correct());
    assertEquals(score.lossSum(), parts.lossSum(), 1e-5);
  }

  @ParameterizedTest
  @ValueSource(strings = {"convnet", "mlp", "resnet20"})
  void shouldCountRightAnswersOfTheBatchWhenItComputesAGradient(String name) {
    List<Integer> shape = name.equals("resnet20") ? List.of(3, 8, 8) : DIGIT;
    Model model = Samples.model(name, Map.of(), shape, 1);
    Batch batch = Samples.batch(64, shape, 10, 6);

    model.gradient(batch);

    int counted = model.correct();
    assertTrue(counted > 0 && counted < 64, "counted " + counted);
    if (!name.equals("resnet20")) {
      assertEquals(model.score(batch).correct(), counted, "the same forward pass in both modes");
    }
  }

  @Test
  void shouldCountTheMostProbableClassesWhenAskedForTopK() {
    float[] values = {0.1f, 0.2f, 0.3f, 0.4f, 0.25f, 0.25f, 0.25f, 0.25f};

    assertEquals(0, Probabilities.score(values, new int[] {1, 1}, 0).correctTop());
    assertEquals(1, Probabilities.score(values, new int[] {3, 2}, 1).correctTop());
    assertEquals(1, Probabilities.score(values, new int[] {1, 1}, 2).correctTop(), "ties in order");
    assertEquals(2, Probabilities.score(values, new int[] {1, 2}, 3).correctTop());
    assertEquals(50, Probabilities.score(values, new int[] {0, 2}, 3).topAccuracy());
  }

  @Test
  void shouldCountNoRightAnswerWhenAModelReturnsNaN() {
    float[] values = {Float.NaN, Float.NaN, Float.NaN, Float.NaN};

    Score score = Probabilities.score(values, new int[] {0, 1}, 1);

    assertEquals(0, score.correct());
    assertEquals(0, score.correctTop());
  }

  /**
   * Checks that running statistics r change by {@code (1 - decay) (batch - r)}, with the unbiased
   * variance.
   */
  @Test
  void shouldLeaveTheDifferenceToSubtractWhenElementsAreStatistics() {
    Backend.start(1);
    MultiLayerNetwork network =
        new MultiLayerNetwork(
            new NeuralNetConfiguration.Builder()
                .list()
                .layer(
                    new BatchNormalization.Builder()
                        .name("bn")
                        .nIn(2)
                        .nOut(2)
                        .decay(0.9)
                        .useLogStd(false)
                        .build())
                .layer(
                    new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(2)
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build());
    network.init();
    Model model =
        new Dl4jModel(
            LayeredNetwork.training(network),
            new ModelConfig("own", Map.of(), List.of(2), 2, 1, 1),
            List.of(2));
    float[] features = {1, 10, 2, 10, 6, 40};

    float[] gradient =
        Samples.gradient(model, new Batch(features, new int[] {0, 1, 1}, List.of(2), 0));

    int first = model.layout().trainable();
    assertEquals(List.of("bn.mean", "bn.var"), names(model, Block.Kind.STATISTIC));
    assertEquals(0.1 * (0 - 3), gradient[first], 1e-6);
    assertEquals(0.1 * (0 - 20), gradient[first + 1], 1e-6);
    assertEquals(0.1 * (1 - 7), gradient[first + 2], 1e-6);
    assertEquals(0.1 * (1 - 300), gradient[first + 3], 1e-5);
  }

  private static List<String> names(Model model, Block.Kind kind) {
    return model.layout().blocks().stream()
        .filter(block -> block.kind() == kind)
        .map(Block::name)
        .toList();
  }

  @Test
  void shouldReportABatchThatDoesNotFit() {
    Model model = Samples.model("convnet", Map.of(), DIGIT, 1);
    Batch label = new Batch(new float[784], new int[] {10}, DIGIT, 0);
    Batch features = new Batch(new float[783], new int[] {1}, DIGIT, 0);

    assertEquals(
        "label 10 of sample 0: expected 0 to 9",
        assertThrows(IllegalArgumentException.class, () -> model.gradient(label)).getMessage());
    assertEquals(
        "batch of 1 samples with 783 values, expected 784",
        assertThrows(IllegalArgumentException.class, () -> model.gradient(features)).getMessage());
  }

  @Test
  void shouldRefuseWhenAnotherThreadComputes() {
    Model model = Samples.model("convnet", Map.of(), DIGIT, 1);
    Batch batch = Samples.batch(1, DIGIT, 10, 6);

    CompletableFuture<Double> elsewhere =
        CompletableFuture.supplyAsync(() -> model.gradient(batch));

    assertThrows(Exception.class, () -> elsewhere.get(60, TimeUnit.SECONDS));
  }
}
