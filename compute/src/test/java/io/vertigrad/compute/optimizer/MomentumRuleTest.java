package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

/**
 * Computes three updates of one parameter and one statistic by hand; all numbers are binary
 * fractions.
 */
class MomentumRuleTest {

  private static final float[] GRADIENTS = {1, 2, -1};

  @Test
  void shouldMatchTheFormulaWhenMomentumIsSet() {
    // v = 1, 2.5, 0.25
    assertTrajectory("{'momentum': 0.5}", 1 - 0.25, 0.75 - 0.625, 0.125 - 0.0625);
  }

  @Test
  void shouldDampenAllButTheFirstGradientWhenDampeningIsSet() {
    // v = 1, 0.5 + 0.75 * 2 = 2, 1 - 0.75 = 0.25
    assertTrajectory("{'momentum': 0.5, 'dampening': 0.25}", 1 - 0.25, 0.75 - 0.5, 0.25 - 0.0625);
  }

  @Test
  void shouldLookAheadWhenNesterovIsSet() {
    // v = 1, 2.5, 0.25; g + 0.5 v = 1.5, 3.25, -0.875
    assertTrajectory(
        "{'name': 'nesterov', 'momentum': 0.5}", 1 - 0.375, 0.625 - 0.8125, -0.1875 + 0.21875);
  }

  @Test
  void shouldAddDecayToTheGradientBeforeTheVelocityWhenL2IsSet() {
    // g + 0.5 p = 1.5, 2.3125, -0.9765625 + ...; v = 1.5, 3.0625, 0.4619140625
    double second = 0.625 - 0.25 * (0.75 + 2 + 0.5 * 0.625);
    double third = second - 0.25 * (0.5 * 3.0625 - 1 + 0.5 * second);
    assertTrajectory("{'momentum': 0.5, 'l2': 0.5}", 0.625, second, third);
  }

  @Test
  void shouldStayThePlainRuleWhenMomentumIsZero() {
    assertInstanceOf(SgdRule.class, PlainRules.create(config("{'dampening': 0.5}"), 3));
    assertEquals(0, PlainRules.create(OptimizerConfig.sgd(0.1), 3).stateLength());
  }

  @Test
  void shouldNotDampenTheFirstGradientWhenTheCheckpointIsEarlier() {
    OptimizerConfig config = config("{'momentum': 0.5, 'dampening': 0.75}");
    UpdateRule restored = PlainRules.create(config, 1);
    restored.writeState(FloatBuffer.wrap(new float[1]));

    assertEquals(0.5f, step(restored, 2, 0));
    assertEquals(0.25f * (0.5f * 2 + 0.25f * 4), step(restored, 4, 1));
  }

  @Test
  void shouldNotDampenTheFirstGradientOfAWorkerThatJoinedLate() {
    UpdateRule late = PlainRules.create(config("{'momentum': 0.5, 'dampening': 0.75}"), 1);

    assertEquals(0.5f, step(late, 2, 100));
  }

  @Test
  void shouldContinueFromTheVelocityWhenStateIsReadAndWritten() {
    OptimizerConfig config = config("{'momentum': 0.5, 'dampening': 0.75}");
    UpdateRule first = PlainRules.create(config, 1);
    step(first, 2, 0);
    float[] state = new float[first.stateLength()];
    first.readState(FloatBuffer.wrap(state));
    UpdateRule second = PlainRules.create(config, 1);
    second.writeState(FloatBuffer.wrap(state));

    assertArrayEquals(new float[] {2}, state);
    assertEquals(0.25f * (0.5f * 2 + 0.25f * 4), step(second, 4, 1));
  }

  private static void assertTrajectory(String settings, double... expected) {
    OptimizerConfig config = config(settings);
    Optimizer optimizer = new Optimizer(config, PlainRules.create(config, 1), 1);
    float[] parameters = {1, 8};
    for (int step = 0; step < expected.length; step++) {
      optimizer.step(parameters, new float[] {GRADIENTS[step], 0.25f}, step, 0);
      float statistic = 8 - 0.25f * (step + 1);
      assertArrayEquals(new float[] {(float) expected[step], statistic}, parameters, 0f);
    }
  }

  private static float step(UpdateRule rule, float gradient, long iteration) {
    float[] step = {gradient};
    rule.toStep(step, 0.25, iteration);
    return step[0];
  }

  private static OptimizerConfig config(String settings) {
    JsonObject json = new JsonObject(settings.replace('\'', '"')).put("learningRate", 0.25);
    return OptimizerConfig.read(Settings.of("job.json", json));
  }
}
