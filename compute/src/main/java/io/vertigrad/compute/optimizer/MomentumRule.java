package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/**
 * Stochastic gradient descent with momentum, as PyTorch's {@code SGD} defines it: {@code v = mu v +
 * (1 - dampening) g}, and the step is {@code learningRate * v}, or with Nesterov's look-ahead
 * {@code learningRate * (g + mu v)}.
 *
 * <p>The first update sets {@code v = g}, without dampening. The rule's state is v.
 */
final class MomentumRule implements UpdateRule {

  private final float momentum;
  private final float undamped;
  private final boolean nesterov;
  private final float[] velocity;
  private boolean started;

  MomentumRule(double momentum, double dampening, boolean nesterov, int length) {
    this.momentum = (float) momentum;
    this.undamped = (float) (1 - dampening);
    this.nesterov = nesterov;
    this.velocity = new float[length];
  }

  @Override
  public void toStep(float[] gradient, double learningRate, long iteration) {
    // A checkpoint of version 0 holds the zero velocity from before the first gradient.
    boolean first = !started || iteration == 0;
    float kept = first ? 0 : momentum;
    float added = first ? 1 : undamped;
    if (nesterov) {
      nesterovStep(gradient, (float) learningRate, kept, added);
    } else {
      momentumStep(gradient, (float) learningRate, kept, added);
    }
    started = true;
  }

  private void momentumStep(float[] gradient, float rate, float kept, float added) {
    float[] v = velocity;
    for (int i = 0; i < v.length; i++) {
      v[i] = kept * v[i] + added * gradient[i];
      gradient[i] = rate * v[i];
    }
  }

  private void nesterovStep(float[] gradient, float rate, float kept, float added) {
    float[] v = velocity;
    float mu = momentum;
    for (int i = 0; i < v.length; i++) {
      v[i] = kept * v[i] + added * gradient[i];
      gradient[i] = rate * (gradient[i] + mu * v[i]);
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
    started = true;
  }
}
