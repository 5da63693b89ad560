package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

class OptimizerTest {

  private static final float EXACT_ENOUGH = 1e-6f;

  @Test
  void shouldAddCoupledDecayBeforeTheRuleWhenL2IsSet() {
    Optimizer optimizer = new Optimizer(config(0.1, 0.5, 0, 1), new PlainRule(2), 2);
    float[] parameters = {2, -4};

    optimizer.step(parameters, new float[] {1, 1}, 0, 0);

    assertArrayEquals(
        new float[] {2 - 0.1f * (1 + 1), -4 - 0.1f * (1 - 2)}, parameters, EXACT_ENOUGH);
  }

  @Test
  void shouldDecayIndependentlyOfTheRuleWhenWeightDecayIsSet() {
    Optimizer optimizer = new Optimizer(config(0.1, 0, 0.5, 1), new PlainRule(1), 1);
    float[] parameters = {2};

    optimizer.step(parameters, new float[] {1}, 0, 0);

    assertArrayEquals(new float[] {2 - 0.1f - 0.1f * 0.5f * 2}, parameters, EXACT_ENOUGH);
  }

  @Test
  void shouldScaleRateAndDecayWhenTheScheduleIsNotConstant() {
    Optimizer optimizer = new Optimizer(config(0.1, 0, 0.5, 0.5), new PlainRule(1), 1);
    float[] parameters = {2};

    optimizer.step(parameters, new float[] {1}, 0, 0);

    assertArrayEquals(new float[] {2 - 0.05f - 0.05f * 0.5f * 2}, parameters, EXACT_ENOUGH);
  }

  @Test
  void shouldSubtractWithoutWeightWhenElementsAreStatistics() {
    Optimizer optimizer = new Optimizer(config(0.1, 0.5, 0.5, 1), new PlainRule(0), 0);
    float[] parameters = {2, 3};

    optimizer.step(parameters, new float[] {0.25f, -1}, 0, 0);

    assertArrayEquals(new float[] {1.75f, 4}, parameters, 0);
  }

  @Test
  void shouldRefuseWhenTheGradientIsShorter() {
    Optimizer optimizer = new Optimizer(config(0.1, 0, 0, 1), new PlainRule(2), 2);

    assertThrows(
        IllegalArgumentException.class, () -> optimizer.step(new float[3], new float[2], 0, 0));
  }

  @Test
  void shouldAdvanceBehindTheStateOfEveryRule() {
    FloatBuffer both = FloatBuffer.allocate(5);

    for (boolean relative : new boolean[] {true, false}) {
      new Optimizer(config(0.1, 0, 0, 1), new TwoStates(relative), 1).readState(both);
    }

    assertEquals(4, both.position());
    assertArrayEquals(new float[] {3, 4, 3, 4, 0}, both.array(), 0);
  }

  private static OptimizerConfig config(double rate, double l2, double decay, double factor) {
    return new OptimizerConfig(
        "sgd", rate, 0, 0, 0, 0, 1e-8, l2, decay, 0, (updates, epochs) -> factor);
  }

  /** SGD over the first elements of a partition. */
  private record PlainRule(int length) implements UpdateRule {

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {
      for (int i = 0; i < length; i++) {
        gradient[i] *= (float) learningRate;
      }
    }

    @Override
    public int stateLength() {
      return 0;
    }

    @Override
    public void readState(FloatBuffer destination) {}

    @Override
    public void writeState(FloatBuffer source) {}
  }

  /** A rule with two values of state, which fills the buffer that it receives. */
  private record TwoStates(boolean relative) implements UpdateRule {

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {}

    @Override
    public int stateLength() {
      return 2;
    }

    @Override
    public void readState(FloatBuffer destination) {
      if (!relative) {
        destination.put(0, new float[] {3, 4});
        return;
      }
      for (float value = 3; destination.hasRemaining(); value++) {
        destination.put(value);
      }
    }

    @Override
    public void writeState(FloatBuffer source) {}
  }
}
