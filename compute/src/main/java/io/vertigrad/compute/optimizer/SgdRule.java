package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/** Stochastic gradient descent: the step is {@code learningRate * g}; it has no state. */
final class SgdRule implements UpdateRule {

  private final int length;

  SgdRule(int length) {
    this.length = length;
  }

  @Override
  public void toStep(float[] gradient, double learningRate, long iteration) {
    float rate = (float) learningRate;
    for (int i = 0; i < length; i++) {
      gradient[i] *= rate;
    }
  }

  @Override
  public void step(
      float[] parameters,
      float[] gradient,
      double learningRate,
      long iteration,
      float kept,
      int elements) {
    float rate = (float) learningRate;
    for (int i = 0; i < length; i++) {
      parameters[i] = parameters[i] * kept - gradient[i] * rate;
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
