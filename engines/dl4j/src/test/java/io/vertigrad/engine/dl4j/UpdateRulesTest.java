package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.optimizer.UpdateRule;
import java.nio.FloatBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares every rule with its formula in double precision, over several steps. */
class UpdateRulesTest {

  private static final int STEPS = 20;
  private static final double RATE = 0.05;
  private static final double MU = 0.9;
  private static final double BETA2 = 0.99;
  private static final float TOLERANCE = 1e-6f;

  @BeforeAll
  static void startBackend() {
    Backend.start(1);
  }

  @Test
  void shouldMultiplyByTheRateWhenSgd() {
    assertFollows(config("sgd", 1e-8), (state, g, t) -> RATE * g);
  }

  @Test
  void shouldLookAheadWhenNesterov() {
    assertFollows(
        config("nesterov", 1e-8),
        (state, g, t) -> {
          double before = state[0];
          state[0] = MU * state[0] - RATE * g;
          return MU * before - (1 + MU) * state[0];
        });
  }

  @Test
  void shouldCorrectBiasWhenAdam() {
    assertFollows(
        config("adam", 1e-8),
        (state, g, t) -> {
          state[0] = MU * state[0] + (1 - MU) * g;
          state[1] = BETA2 * state[1] + (1 - BETA2) * g * g;
          double mean = state[0] / (1 - Math.pow(MU, t));
          double square = state[1] / (1 - Math.pow(BETA2, t));
          return RATE * mean / (Math.sqrt(square) + 1e-8);
        });
  }

  @Test
  void shouldDivideByAllSquaresWhenAdaGrad() {
    assertFollows(
        config("adagrad", 1e-10),
        (state, g, t) -> {
          state[0] += g * g;
          return RATE * g / (Math.sqrt(state[0]) + 1e-10);
        });
  }

  @Test
  void shouldDivideByRecentSquaresWhenRmsProp() {
    assertFollows(
        config("rmsprop", 1e-8),
        (state, g, t) -> {
          state[0] = BETA2 * state[0] + (1 - BETA2) * g * g;
          return RATE * g / (Math.sqrt(state[0]) + 1e-8);
        });
  }

  @ParameterizedTest
  @CsvSource({"sgd,0", "nesterov,3", "adam,6", "adagrad,3", "rmsprop,3"})
  void shouldContinueBitForBitWhenStateIsReadAndWritten(String name, int stateLength) {
    UpdateRule first = UpdateRules.create(config(name, 1e-8), 3);
    for (int t = 0; t < 5; t++) {
      first.toStep(gradient(t), RATE, t);
    }
    float[] state = new float[first.stateLength()];
    first.readState(FloatBuffer.wrap(state));
    UpdateRule second = UpdateRules.create(config(name, 1e-8), 3);
    second.writeState(FloatBuffer.wrap(state));

    float[] expected = gradient(5);
    float[] actual = gradient(5);
    first.toStep(expected, RATE, 5);
    second.toStep(actual, RATE, 5);

    assertEquals(stateLength, first.stateLength());
    assertArrayEquals(expected, actual, 0);
  }

  @ParameterizedTest
  @CsvSource({"sgd,0", "nesterov,3", "adam,6", "adagrad,3", "rmsprop,3"})
  void shouldContinueBitForBitWhenComputedInJava(String name, int stateLength) {
    UpdateRule first = PlainRules.create(config(name, 1e-8), 3);
    for (int t = 0; t < 5; t++) {
      first.toStep(gradient(t), RATE, t);
    }
    FloatBuffer state = FloatBuffer.allocate(first.stateLength());
    first.readState(state);
    UpdateRule second = PlainRules.create(config(name, 1e-8), 3);
    second.writeState(state.flip());

    float[] expected = gradient(5);
    float[] actual = Arrays.copyOf(gradient(5), 4);
    first.toStep(expected, RATE, 5);
    second.toStep(actual, RATE, 5);

    assertEquals(stateLength, first.stateLength());
    assertArrayEquals(Arrays.copyOf(expected, 4), actual, 0, "and what follows is left alone");
  }

  @Test
  void shouldIgnoreElementsBehindTheGradient() {
    float[] gradient = {1, 1, 1, 7};

    UpdateRules.create(config("adam", 1e-8), 3).toStep(gradient, RATE, 0);

    assertEquals(7f, gradient[3], 0);
  }

  @Test
  void shouldRefuseWhenNameIsUnknown() {
    assertThrows(IllegalArgumentException.class, () -> config("nadam", 1e-8));
  }

  private static void assertFollows(OptimizerConfig config, Formula formula) {
    UpdateRule rule = UpdateRules.create(config, 3);
    double[][] states = new double[3][2];
    for (int t = 0; t < STEPS; t++) {
      float[] gradient = gradient(t);
      float[] expected = new float[3];
      for (int i = 0; i < 3; i++) {
        expected[i] = (float) formula.step(states[i], gradient[i], t + 1);
      }
      rule.toStep(gradient, RATE, t);
      assertArrayEquals(expected, gradient, TOLERANCE, config.name() + " at update " + t);
    }
  }

  private static float[] gradient(int t) {
    return new float[] {(float) Math.sin(t + 1), 0.3f * (t + 1), t % 3 - 1.2f};
  }

  private static OptimizerConfig config(String name, double epsilon) {
    return new OptimizerConfig(
        name,
        RATE,
        name.equals("sgd") ? 0 : MU,
        0,
        MU,
        BETA2,
        epsilon,
        0,
        0,
        0,
        LearningRateSchedule.constant());
  }

  /** One update of one element; {@code t} counts from 1. */
  private interface Formula {
    double step(double[] state, double gradient, int t);
  }
}
