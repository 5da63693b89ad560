package io.vertigrad.internal.collective;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import java.nio.FloatBuffer;

/** SGD, or with momentum a heavy ball, {@code v <- mu v + g; step = r v}. */
final class TestRule implements UpdateRule {

  private final double momentum;
  private final int length;
  private final float[] velocity;

  TestRule(OptimizerConfig config, int length) {
    boolean heavy = config.momentum() > 0;
    this.length = length;
    momentum = config.momentum();
    velocity = new float[heavy ? length : 0];
  }

  @Override
  public void toStep(float[] gradient, double learningRate, long iteration) {
    for (int i = 0; i < velocity.length; i++) {
      velocity[i] = (float) (momentum * velocity[i] + gradient[i]);
      gradient[i] = velocity[i];
    }
    for (int i = 0; i < length; i++) {
      gradient[i] *= (float) learningRate;
    }
  }

  @Override
  public int stateLength() {
    return velocity.length;
  }

  @Override
  public void readState(FloatBuffer destination) {
    destination.put(velocity);
  }

  @Override
  public void writeState(FloatBuffer source) {
    source.get(velocity);
  }
}
