package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares the built-in networks on both engines: the same exchange vector, initial bits and steps.
 */
class EnginesAgreeTest {

  private static final List<Integer> DIGIT = List.of(1, 28, 28);
  private static final List<Integer> IMAGE = List.of(3, 16, 16);
  private static final double ONE_GRADIENT = 1e-5;
  private static final double ONE_FLIP = 1e-2;
  private static final double TWENTY_STEPS = 1e-4;
  private static final int BATCHES = 5;
  private static final int STEPS = 20;

  static Stream<ModelConfig> networks() {
    return Stream.of(
        config("convnet", Map.of(), DIGIT),
        config("convnet", Map.of("initialization", "glorot"), List.of(3, 13, 17)),
        config("mlp", Map.of(), DIGIT),
        config("mlp", Map.of("hidden", 20, "layers", 3, "initialization", "glorot"), DIGIT),
        config("resnet20", Map.of(), IMAGE),
        config("resnet20", Map.of("shortcut", "A", "initialization", "glorot"), List.of(1, 9, 9)));
  }

  static Stream<ModelConfig> withoutBatchNorm() {
    return networks().filter(config -> !config.name().equals("resnet20"));
  }

  @ParameterizedTest
  @MethodSource("networks")
  void shouldStartWithTheSameBitsInTheSamePlaces(ModelConfig config) {
    try (Model dl4j = Engine.named("dl4j").model(config);
        Model pytorch = Engine.named("pytorch").model(config)) {
      assertEquals(dl4j.layout().blocks(), pytorch.layout().blocks());
      assertEquals(dl4j.layout().hash(), pytorch.layout().hash());
      assertArrayEquals(Samples.parameters(dl4j), Samples.parameters(pytorch), 0);
    }
  }

  /**
   * Compares with a tolerance, because two libraries round differently. If a ReLU's input is very
   * close to zero, one library passes it on and the other does not, and batch norm spreads that
   * difference to all values. The batch in which it happens depends on the processor, but it never
   * happens in all.
   */
  @ParameterizedTest
  @MethodSource("networks")
  void shouldComputeTheSameGradient(ModelConfig config) {
    try (Model dl4j = Engine.named("dl4j").model(config);
        Model pytorch = Engine.named("pytorch").model(config)) {
      double[] distances = new double[BATCHES];
      for (int seed = 0; seed < BATCHES; seed++) {
        Batch batch = Samples.batch(16, config.inputShape(), 10, seed);
        float[] there = Samples.gradient(dl4j, batch);
        float[] here = Samples.gradient(pytorch, batch);

        distances[seed] = distance(there, here, 0, dl4j.layout().trainable());
        double statistics = distance(there, here, dl4j.layout().trainable(), there.length);
        assertTrue(statistics < ONE_GRADIENT, config + ", statistics: " + statistics);
        assertEquals(dl4j.gradient(batch), pytorch.gradient(batch), ONE_GRADIENT);
        assertEquals(dl4j.correct(), pytorch.correct());
      }
      Arrays.sort(distances);
      String all = config + ": " + Arrays.toString(distances);
      assertTrue(distances[0] < ONE_GRADIENT, all);
      boolean batchNorm = config.name().equals("resnet20");
      assertTrue(distances[BATCHES - 1] < (batchNorm ? ONE_FLIP : ONE_GRADIENT), all);
    }
  }

  private static double distance(float[] there, float[] here, int first, int end) {
    return first == end
        ? 0
        : Samples.distance(
            Arrays.copyOfRange(there, first, end), Arrays.copyOfRange(here, first, end));
  }

  @ParameterizedTest
  @MethodSource("networks")
  void shouldScoreLikeTheOtherEngine(ModelConfig config) {
    Batch batch = Samples.batch(50, config.inputShape(), 10, 6);
    try (Model dl4j = Engine.named("dl4j").model(config);
        Model pytorch = Engine.named("pytorch").model(config)) {
      Score there = dl4j.score(batch, 3);
      Score here = pytorch.score(batch, 3);

      assertEquals(there.lossSum(), here.lossSum(), 1e-4 * there.lossSum());
      assertEquals(there.correct(), here.correct());
      assertEquals(there.correctTop(), here.correctTop());
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("withoutBatchNorm")
  void shouldAgreeOverTwentySteps(ModelConfig config) {
    float[] there = trained("dl4j", config);
    float[] here = trained("pytorch", config);

    double distance = Samples.distance(there, here);
    assertTrue(distance < TWENTY_STEPS, config + ": " + distance);
  }

  private static float[] trained(String name, ModelConfig config) {
    Engine engine = Engine.named(name);
    try (Model model = engine.model(config)) {
      float[] parameters = Samples.parameters(model);
      Optimizer optimizer = Optimizer.of(engine, OptimizerConfig.sgd(0.05), parameters.length);
      for (int step = 0; step < STEPS; step++) {
        Batch batch = Samples.batch(32, config.inputShape(), 10, step);
        optimizer.step(parameters, Samples.gradient(model, batch), step, 0);
        model.writeParameters(0, FloatBuffer.wrap(parameters));
      }
      return parameters;
    }
  }

  private static ModelConfig config(String name, Map<String, Object> options, List<Integer> shape) {
    return new ModelConfig(name, options, shape, 10, 7, 1);
  }
}
