package io.vertigrad.engine.pytorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Device;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.CosineSchedule;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.Magnitudes;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.optimizer.WarmUp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares steps on a device with those of the optimizers in Java. The device is a GPU with the
 * profile {@code pytorch-cuda}, otherwise the processor.
 */
class TensorRuleTest {

  private static final int STEPS = 200;
  private static final double CLOSE = 1e-6;
  private static final float BOUND = 1e9f;
  private static final int TRAINABLE = 1_003;
  private static final int STATISTICS = 5;

  private static final ParameterLayout LAYOUT =
      new ParameterLayout(
          List.of(
              new Block("w", List.of(TRAINABLE), Block.Kind.TRAINABLE),
              new Block("mean", List.of(STATISTICS), Block.Kind.STATISTIC)));

  private final SplittableRandom random = new SplittableRandom(5);
  private final Place place =
      LibTorch.cuda().present()
          ? Place.on(Device.of("cuda").orElseThrow(), "rule")
          : Place.copied();
  private final FlatCopies copies = new FlatCopies(place, LAYOUT.length(), TRAINABLE);
  private final float[] parameters = gradient();

  @BeforeAll
  static void start() {
    LibTorch.start(1);
  }

  TensorRuleTest() {
    copies.beginWriting(true);
    floats(copies.parameterBytes()).put(parameters);
    copies.markWritten();
  }

  @AfterEach
  void close() {
    copies.close();
    place.close();
  }

  @ParameterizedTest
  @CsvSource({
    "sgd, 0, 0, 0, 0, 0",
    "sgd, 0, 0, 0.01, 0.02, 0.5",
    "sgd, 0.9, 0, 0, 0, 0",
    "sgd, 0.9, 0.3, 0.01, 0, 0.5",
    "nesterov, 0.9, 0, 0, 0.02, 0",
    "nesterov, 0.8, 0, 0.01, 0.02, 0.5",
    "adam, 0, 0, 0, 0, 0",
    "adam, 0, 0, 0.01, 0.02, 0.5",
    "adagrad, 0, 0, 0, 0, 0",
    "adagrad, 0, 0, 0.01, 0.02, 0.5",
    "rmsprop, 0, 0, 0, 0, 0",
    "rmsprop, 0, 0, 0.01, 0.02, 0.5"
  })
  void shouldFollowTheRuleInJava(
      String name,
      double momentum,
      double dampening,
      double l2,
      double weightDecay,
      double clipNorm) {
    OptimizerConfig config = config(name, momentum, dampening, l2, weightDecay, clipNorm);
    try (TensorRule rule = new TensorRule(config, copies, place, LAYOUT)) {
      Optimizer java = java(config);
      for (int step = 0; step < STEPS; step++) {
        float[] gradient = gradient();
        copies.writeGradients(gradient);
        assertTrue(rule.step(rate(config, step), step, BOUND));
        if (clipNorm > 0) {
          assertTrue(GradientClip.clip(gradient, TRAINABLE, clipNorm));
        }
        java.step(parameters, gradient, step, epochs(step));
      }
      assertClose(parameters, onDevice());
      assertClose(state(java), state(rule));
    }
  }

  /** Java takes the steps of an optimizer without a rule. */
  @Test
  void shouldKnowTheOptimizersThatItHasFormulasFor() {
    OptimizerConfig.NAMES.forEach(name -> assertTrue(TensorRule.knows(name), name));
    assertFalse(TensorRule.knows("lion"));
  }

  /** Replicas stay equal when some of them step in Java. */
  @ParameterizedTest
  @CsvSource({
    "sgd, 0, 0",
    "sgd, 0.9, 0.3",
    "nesterov, 0.8, 0",
    "adam, 0, 0",
    "adagrad, 0, 0",
    "rmsprop, 0, 0"
  })
  void shouldHaveTheBitsOfTheRuleInJavaWhenTheGradientIsGiven(
      String name, double momentum, double dampening) {
    OptimizerConfig config = config(name, momentum, dampening, 0.01, 0.02, 0);
    try (TensorRule rule = new TensorRule(config, copies, place, LAYOUT)) {
      Optimizer java = java(config);
      for (int step = 0; step < STEPS; step++) {
        float[] gradient = gradient();
        rule.step(gradient, rate(config, step), step);
        java.step(parameters, gradient, step, epochs(step));
      }
      assertArrayEquals(parameters, onDevice(), 0);
      assertArrayEquals(state(java), state(rule), 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sgd", "nesterov", "adam", "adagrad", "rmsprop"})
  void shouldContinueFromTheStateOfTheRuleInJava(String name) {
    OptimizerConfig config = config(name, 0.8, 0, 0, 0, 0);
    try (TensorRule rule = new TensorRule(config, copies, place, LAYOUT)) {
      Optimizer java = java(config);
      for (int step = 0; step < 3; step++) {
        java.step(parameters.clone(), gradient(), step, epochs(step));
      }
      FloatBuffer before = FloatBuffer.wrap(state(java));

      rule.writeState(before);

      assertEquals(0, before.remaining(), "consumed");
      float[] gradient = gradient();
      rule.step(gradient, rate(config, 3), 3);
      java.step(parameters, gradient, 3, epochs(3));
      assertArrayEquals(parameters, onDevice(), 0);
      assertArrayEquals(state(java), state(rule), 0);
    }
  }

  @ParameterizedTest
  @CsvSource({"3, NaN", "3, 11", "3, -Infinity", "1004, NaN", "1004, -11"})
  void shouldChangeNothingWhenAnElementIsBeyondTheBound(int element, float value) {
    OptimizerConfig config = config("adam", 0, 0, 0.01, 0.02, 0);
    try (TensorRule rule = new TensorRule(config, copies, place, LAYOUT)) {
      copies.writeGradients(gradient());
      assertTrue(rule.step(0.1, 0, 10));
      float[] before = onDevice();
      float[] state = state(rule);
      float[] gradient = gradient();
      gradient[element] = value;
      copies.writeGradients(gradient);

      assertFalse(rule.step(0.1, 1, 10));

      assertArrayEquals(before, onDevice(), 0);
      assertArrayEquals(state, state(rule), 0);
    }
  }

  /** The bound holds for what is applied, and a norm that is not finite limits nothing. */
  @ParameterizedTest
  @CsvSource({"1e6, true", "1e30, true", "Infinity, false", "NaN, false"})
  void shouldClipBeforeItLooksAtTheBound(float value, boolean taken) {
    OptimizerConfig config = config("sgd", 0, 0, 0, 0, 1);
    try (TensorRule rule = new TensorRule(config, copies, place, LAYOUT)) {
      float[] gradient = new float[LAYOUT.length()];
      gradient[7] = value;
      copies.writeGradients(gradient);

      assertEquals(taken, rule.step(0.5, 0, 10));

      GradientClip.clip(gradient, TRAINABLE, 1);
      assertEquals(taken, Magnitudes.largest(gradient, 0, gradient.length) <= 10);
      assertEquals(parameters[7] - (taken ? 0.5f : 0), onDevice()[7], CLOSE);
    }
  }

  @Test
  void shouldWaitForTheDeviceOnceAStep() {
    try (TensorRule rule = new TensorRule(config("adam", 0, 0, 0, 0, 1), copies, place, LAYOUT)) {
      copies.writeGradients(gradient());
      rule.step(0.1, 0, BOUND);
      Transfers.Counts before = place.transfers().counts();

      rule.step(0.1, 1, BOUND);

      assertEquals(before.plus(0, 1, 1), place.transfers().counts());
    }
  }

  private static OptimizerConfig config(
      String name,
      double momentum,
      double dampening,
      double l2,
      double weightDecay,
      double clipNorm) {
    LearningRateSchedule schedule = new WarmUp(20, 0.1, new CosineSchedule(10, 0.05));
    return new OptimizerConfig(
        name, 0.05, momentum, dampening, 0.9, 0.99, 1e-8, l2, weightDecay, clipNorm, schedule);
  }

  private static Optimizer java(OptimizerConfig config) {
    return new Optimizer(config, PlainRules.create(config, TRAINABLE), TRAINABLE);
  }

  private static double rate(OptimizerConfig config, long step) {
    return config.learningRate() * config.schedule().factor(step, epochs(step));
  }

  private static double epochs(long step) {
    return step / 20.0;
  }

  private float[] gradient() {
    float[] values = new float[LAYOUT.length()];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) (random.nextDouble() - 0.5);
    }
    return values;
  }

  private float[] onDevice() {
    copies.pull();
    float[] values = new float[LAYOUT.length()];
    floats(copies.parameterBytes()).get(values);
    return values;
  }

  private static FloatBuffer floats(ByteBuffer bytes) {
    return bytes.duplicate().order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  private static float[] state(TensorRule rule) {
    float[] state = new float[rule.stateLength()];
    rule.readState(FloatBuffer.wrap(state));
    return state;
  }

  private static float[] state(Optimizer optimizer) {
    float[] state = new float[optimizer.stateLength()];
    optimizer.readState(FloatBuffer.wrap(state));
    return state;
  }

  /** Compares with the largest element, which an error in small ones cannot change. */
  private static void assertClose(float[] expected, float[] found) {
    float scale = Magnitudes.largest(expected, 0, expected.length);
    assertArrayEquals(expected, found, (float) (CLOSE * scale));
  }
}
