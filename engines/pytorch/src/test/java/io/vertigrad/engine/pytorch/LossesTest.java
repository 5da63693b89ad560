package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares every loss on both engines, and both ways of pytorch, with PyTorch, with finite
 * differences, and with each other.
 */
class LossesTest {

  private static final List<String> ENGINES = List.of("dl4j", "pytorch", CopiesEngine.NAME);
  private static final int SAMPLES = 3;

  /*
   * PyTorch 1.13 in float64. With p[i] = sin(i + 1) for i from 0 to 16 and x[n][k] = cos(3 n + k):
   *
   *   out = linear(relu(linear(x, p[0:6].view(3, 2), p[6:9])), p[9:15].view(2, 3), p[15:17])
   *   binary_cross_entropy_with_logits(out, [[1, 0], [1, 1], [0, 0]])
   *   mse_loss(out, [[0.5, -1], [2, 0.25], [-3, 1]])
   *   cross_entropy(out, [1, 0, 1])
   */
  private static final int[] CLASSES = {1, 0, 1};
  private static final float[] LABELS = {1, 0, 1, 1, 0, 0};
  private static final float[] VALUES = {0.5f, -1, 2, 0.25f, -3, 1};

  private static final Map<Loss, Reference> REFERENCES =
      Map.of(
          Loss.BINARY_CROSS_ENTROPY,
          new Reference(
              1.183557024,
              0.15719877f,
              0.09263548f,
              0.21500910f,
              0.12135550f,
              -0.05990586f,
              -0.03955291f,
              0.15850327f,
              0.45754319f,
              0.06051143f,
              -0.25291518f,
              -0.30258371f,
              -0.23710520f,
              0.43567133f,
              0.08943334f,
              -0.05196079f,
              -0.28225360f,
              0.17695443f),
          Loss.MEAN_SQUARED_ERROR,
          new Reference(
              5.273607692,
              0.45220582f,
              0.18545390f,
              -0.92825739f,
              -0.83911743f,
              -1.03114173f,
              -0.68081244f,
              0.44223248f,
              2.74969578f,
              1.04156519f,
              -1.01095769f,
              -2.43979397f,
              -2.29591655f,
              0.68950987f,
              0.79215502f,
              0.57872527f,
              -2.02159050f,
              0.73502894f),
          Loss.CROSS_ENTROPY,
          new Reference(
              1.333789944,
              -0.04393267f,
              -0.02945155f,
              -0.73370481f,
              -0.48534802f,
              -0.38338069f,
              -0.25312752f,
              -0.04490074f,
              0.55680527f,
              0.38725616f,
              0.09671087f,
              -0.40925000f,
              -0.50381329f,
              -0.09671087f,
              0.40925000f,
              0.50381329f,
              -0.27971765f,
              0.27971765f));

  private record Reference(double loss, float... gradient) {}

  static Stream<Arguments> losses() {
    return ENGINES.stream()
        .flatMap(engine -> Stream.of(Loss.values()).map(loss -> Arguments.of(engine, loss)));
  }

  @ParameterizedTest
  @MethodSource("losses")
  void shouldComputeWhatPyTorchDoes(String engine, Loss loss) {
    Reference expected = REFERENCES.get(loss);
    try (Model model = Engine.named(engine).model(small(loss))) {
      setSines(model);
      Batch batch = reference(loss);

      float[] gradient = Samples.gradient(model, batch);

      assertEquals(expected.loss(), model.gradient(batch), 1e-6);
      assertArrayEquals(expected.gradient(), gradient, 1e-6f);
      assertEquals(expected.loss(), model.score(batch).loss(), 1e-6);
    }
  }

  @ParameterizedTest
  @MethodSource("losses")
  void shouldFollowFiniteDifferences(String engine, Loss loss) {
    ModelConfig config = config("mlp", Map.of("hidden", 12), List.of(6), loss, 5);
    Batch batch = batch(config, 20, 3);
    try (Model model = Engine.named(engine).model(config)) {
      float[] parameters = Samples.parameters(model);
      float[] gradient = Samples.gradient(model, batch);
      Block last = model.layout().blocks().get(3);
      assertEquals("fc2.b", last.name());
      for (int i = parameters.length - 5; i < parameters.length; i++) {
        float step = 0.02f;

        double slope =
            (lossAt(model, parameters, i, step, batch) - lossAt(model, parameters, i, -step, batch))
                / (2 * step);

        assertEquals(slope, gradient[i], 1e-4, "bias " + i);
      }
      double squares = 0;
      for (float one : gradient) {
        squares += one * one;
      }
      double along =
          (along(model, parameters, gradient, 1e-2f, batch)
                  - along(model, parameters, gradient, -1e-2f, batch))
              / 2e-2;
      assertEquals(squares, along, 1e-2 * squares, "along the gradient");
    }
  }

  @ParameterizedTest
  @EnumSource(Loss.class)
  void shouldAgreeBetweenEngines(Loss loss) {
    for (ModelConfig config :
        List.of(
            config("mlp", Map.of("hidden", 20), List.of(7), loss, 4),
            config("convnet", Map.of(), List.of(1, 12, 12), loss, 3))) {
      Batch batch = batch(config, 16, 5);
      try (Model there = Engine.named("dl4j").model(config);
          Model here = Engine.named("pytorch").model(config)) {
        assertArrayEquals(Samples.parameters(there), Samples.parameters(here), 0);
        assertTrue(
            Samples.distance(Samples.gradient(there, batch), Samples.gradient(here, batch)) < 1e-5);
        assertEquals(there.gradient(batch), here.gradient(batch), 1e-5);
        assertEquals(there.correct(), here.correct());
        assertEquals(there.answers(), here.answers());
        Score one = there.score(batch);
        Score other = here.score(batch);
        assertEquals(one.loss(), other.loss(), 1e-5);
        assertEquals(one.correct(), other.correct());
        assertEquals(one.answers(), other.answers());
        assertEquals(one.metric(), other.metric());
        assertArrayEquals(
            there.probabilities(batch, config.classes()),
            here.probabilities(batch, config.classes()),
            1e-5f);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("losses")
  void shouldCountTheSumsOfItsMetric(String engine, Loss loss) {
    try (Model model = Engine.named(engine).model(small(loss))) {
      setSines(model);
      Batch batch = reference(loss);

      Score score = model.score(batch);
      model.gradient(batch);

      // The outputs are [-2.0919, 0.5894], [-2.4607, 1.3744] and [-2.0121, 0.4913].
      switch (loss) {
        case CROSS_ENTROPY -> {
          assertEquals(new Score(3, score.lossSum(), 2, 0, 3, Metric.ACCURACY), score);
          assertEquals(2, model.correct());
        }
        case BINARY_CROSS_ENTROPY -> {
          assertEquals(new Score(3, score.lossSum(), 2, 0, 6, Metric.LABEL_ACCURACY), score);
          assertEquals(100 * 2 / 6.0, score.metricValue(), 1e-9);
          assertEquals(2, model.correct());
          assertEquals(2, model.answers());
        }
        case MEAN_SQUARED_ERROR -> {
          assertEquals(new Score(3, score.lossSum(), 0, 0, 0, Metric.RMSE), score);
          assertEquals(Math.sqrt(5.273607692), score.metricValue(), 1e-6);
          assertTrue(Double.isNaN(score.accuracy()));
          assertEquals(-1, model.correct());
        }
      }
    }
  }

  /** Uses logits of 40: the loss of a wrong label is 40, and its gradient is not 0. */
  @ParameterizedTest
  @MethodSource("losses")
  void shouldKeepTheGradientOfALabelThatIsFarOff(String engine, Loss loss) {
    if (loss != Loss.BINARY_CROSS_ENTROPY) {
      return;
    }
    try (Model model = Engine.named(engine).model(small(loss))) {
      float[] parameters = new float[17];
      parameters[15] = 40;
      parameters[16] = -40;
      model.writeParameters(0, FloatBuffer.wrap(parameters));
      Batch batch = new Batch(1, new float[2], new int[0], new float[] {0, 1}, List.of(2), 0);

      float[] gradient = Samples.gradient(model, batch);

      assertEquals(40, model.gradient(batch), 1e-4);
      assertEquals(0.5f, gradient[15], 1e-6f);
      assertEquals(-0.5f, gradient[16], 1e-6f);
    }
  }

  /** Runs two stages with two micro-batches and combines them like a pipeline. */
  @ParameterizedTest
  @MethodSource("losses")
  void shouldComputeTheSameInStages(String engine, Loss loss) {
    ModelConfig config = config("mlp", Map.of("hidden", 12), List.of(6), loss, 5);
    Batch batch = batch(config, 8, 3);
    SplitModel split = Engine.named(engine).split(config, SplitConfig.into(2));
    try (Model whole = Engine.named(engine).model(config);
        StageModel first = split.stage(0);
        StageModel last = split.stage(1)) {
      float[] expected = Samples.gradient(whole, batch);
      float[] front = new float[first.layout().length()];
      float[] back = new float[last.layout().length()];
      double loss1 = 0;
      int correct = 0;
      for (int at = 0; at < 8; at += 4) {
        float[] input = Arrays.copyOfRange(batch.features(), at * 6, (at + 4) * 6);
        float[] between = values(first.forward(input, 4));

        StageLoss found = last.loss(batch.part(at, at + 4, between, last.spec().input()));
        last.addGradient(back, 8);
        first.backward(input, values(found.inputGradient()), 4);
        first.addGradient(front, 8);
        loss1 += found.sum();
        correct += Math.max(0, found.correct());
      }

      assertEquals(whole.gradient(batch), loss1 / 8, 1e-6);
      assertEquals(Math.max(0, whole.correct()), correct);
      assertEquals(whole.answers(), last.answers());
      float[] together = new float[expected.length];
      System.arraycopy(front, 0, together, 0, front.length);
      System.arraycopy(back, 0, together, front.length, back.length);
      assertTrue(Samples.distance(expected, together) < 1e-5);
      Batch tested = batch.with(values(first.infer(batch.features(), 8)), last.spec().input());
      assertEquals(whole.score(batch).loss(), last.score(tested, 0).loss(), 1e-6);
      assertEquals(whole.score(batch).answers(), last.score(tested, 0).answers());
      if (loss == Loss.MEAN_SQUARED_ERROR) {
        assertArrayEquals(whole.probabilities(batch, 5), last.values(tested).orElseThrow(), 1e-6f);
      }
    }
  }

  private static float[] values(FloatBuffer buffer) {
    float[] values = new float[buffer.remaining()];
    buffer.get(values);
    return values;
  }

  private static double lossAt(
      Model model, float[] parameters, int index, float step, Batch batch) {
    float[] moved = parameters.clone();
    moved[index] += step;
    model.writeParameters(0, FloatBuffer.wrap(moved));
    return model.score(batch).loss();
  }

  private static double along(
      Model model, float[] parameters, float[] direction, float step, Batch batch) {
    float[] moved = parameters.clone();
    for (int i = 0; i < moved.length; i++) {
      moved[i] += step * direction[i];
    }
    model.writeParameters(0, FloatBuffer.wrap(moved));
    return model.score(batch).loss();
  }

  private static ModelConfig small(Loss loss) {
    return config("mlp", Map.of("hidden", 3), List.of(2), loss, 2);
  }

  private static void setSines(Model model) {
    float[] parameters = new float[17];
    for (int i = 0; i < parameters.length; i++) {
      parameters[i] = (float) Math.sin(i + 1);
    }
    model.writeParameters(0, FloatBuffer.wrap(parameters));
  }

  private static Batch reference(Loss loss) {
    float[] features = new float[SAMPLES * 2];
    for (int i = 0; i < features.length; i++) {
      features[i] = (float) Math.cos(i / 2 * 3 + i % 2);
    }
    return switch (loss) {
      case CROSS_ENTROPY -> new Batch(features, CLASSES, List.of(2), 0);
      case BINARY_CROSS_ENTROPY -> new Batch(SAMPLES, features, new int[0], LABELS, List.of(2), 0);
      case MEAN_SQUARED_ERROR -> new Batch(SAMPLES, features, new int[0], VALUES, List.of(2), 0);
    };
  }

  private static Batch batch(ModelConfig config, int count, long seed) {
    Batch classes = Samples.batch(count, config.inputShape(), config.classes(), seed);
    if (config.loss() == Loss.CROSS_ENTROPY) {
      return classes;
    }
    SplittableRandom random = new SplittableRandom(seed);
    float[] targets = new float[count * config.classes()];
    for (int i = 0; i < targets.length; i++) {
      targets[i] =
          config.loss() == Loss.BINARY_CROSS_ENTROPY
              ? random.nextInt(2)
              : (float) (4 * random.nextDouble() - 2);
    }
    return new Batch(count, classes.features(), new int[0], targets, config.inputShape(), 0);
  }

  private static ModelConfig config(
      String name, Map<String, Object> options, List<Integer> shape, Loss loss, int outputs) {
    return new ModelConfig(name, options, shape, outputs, 7, 1, loss, 1, 0);
  }
}
