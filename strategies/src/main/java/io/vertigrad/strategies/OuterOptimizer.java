package io.vertigrad.strategies;

import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * Stochastic gradient descent with Nesterov momentum on the global parameters, as PyTorch defines
 * it: {@code v <- mu v + g; p <- p - rate (g + mu v)}. Without momentum it is plain SGD.
 */
final class OuterOptimizer {

  private final float rate;
  private final float momentum;
  private final float[] parameters;
  private final float[] velocity;

  OuterOptimizer(double rate, double momentum, int elements) {
    this.rate = (float) rate;
    this.momentum = (float) momentum;
    this.parameters = new float[elements];
    this.velocity = new float[momentum > 0 ? elements : 0];
  }

  /** Returns the global parameters themselves. */
  float[] parameters() {
    return parameters;
  }

  /** Begins with these parameters, without velocity. */
  void begin(float[] initial) {
    System.arraycopy(initial, 0, parameters, 0, parameters.length);
    Arrays.fill(velocity, 0);
  }

  /**
   * Takes a step of some elements.
   *
   * @param gradient has an element for each parameter
   */
  void step(float[] gradient, int first, int length) {
    for (int i = first; i < first + length; i++) {
      float g = gradient[i];
      if (velocity.length > 0) {
        velocity[i] = momentum * velocity[i] + g;
        g += momentum * velocity[i];
      }
      parameters[i] -= rate * g;
    }
  }

  /** Returns the number of elements of {@link #read} and {@link #write}. */
  int stateLength() {
    return parameters.length + velocity.length;
  }

  void read(FloatBuffer destination) {
    destination.put(parameters).put(velocity);
  }

  void write(FloatBuffer source) {
    source.get(parameters).get(velocity);
  }
}
