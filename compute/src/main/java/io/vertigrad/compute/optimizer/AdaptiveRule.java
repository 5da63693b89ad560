package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/**
 * Update rules that divide each element's step by the root of its squared gradients. Like PyTorch,
 * they add epsilon to the root.
 */
abstract class AdaptiveRule implements UpdateRule {

  /** The first moments, if the rule has them, then the squares. */
  final float[] state;

  final int length;
  final float epsilon;

  AdaptiveRule(int length, int moments, double epsilon) {
    this.length = length;
    this.state = new float[Math.multiplyExact(length, moments)];
    this.epsilon = (float) epsilon;
  }

  @Override
  public int stateLength() {
    return state.length;
  }

  @Override
  public void readState(FloatBuffer destination) {
    destination.put(state);
  }

  @Override
  public void writeState(FloatBuffer source) {
    source.get(state);
  }

  /** Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015). */
  static final class Adam extends AdaptiveRule {

    private final double beta1;
    private final double beta2;

    Adam(OptimizerConfig config, int length) {
      super(length, 2, config.epsilon());
      this.beta1 = config.beta1();
      this.beta2 = config.beta2();
    }

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {
      double t = iteration + 1.0;
      float rate = (float) (learningRate / (1 - Math.pow(beta1, t)));
      float correction = (float) (1 / Math.sqrt(1 - Math.pow(beta2, t)));
      float kept1 = (float) beta1;
      float kept2 = (float) beta2;
      float new1 = (float) (1 - beta1);
      float new2 = (float) (1 - beta2);
      float[] m = state;
      for (int i = 0; i < length; i++) {
        float g = gradient[i];
        float mean = kept1 * m[i] + new1 * g;
        float square = kept2 * m[length + i] + new2 * (g * g);
        m[i] = mean;
        m[length + i] = square;
        gradient[i] = rate * mean / ((float) Math.sqrt(square) * correction + epsilon);
      }
    }
  }

  /**
   * Rules that divide by the root of accumulated squares. AdaGrad sums all squares (Duchi, Hazan
   * and Singer, "Adaptive Subgradient Methods", 2011); RMSProp decays old squares (Tieleman and
   * Hinton, lecture 6.5 of "Neural Networks for Machine Learning", 2012).
   */
  static final class SquaredGradients extends AdaptiveRule {

    private final float kept;
    private final float added;

    private SquaredGradients(OptimizerConfig config, int length, double kept, double added) {
      super(length, 1, config.epsilon());
      this.kept = (float) kept;
      this.added = (float) added;
    }

    static SquaredGradients adaGrad(OptimizerConfig config, int length) {
      return new SquaredGradients(config, length, 1, 1);
    }

    static SquaredGradients rmsProp(OptimizerConfig config, int length) {
      return new SquaredGradients(config, length, config.beta2(), 1 - config.beta2());
    }

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {
      float rate = (float) learningRate;
      float[] squares = state;
      for (int i = 0; i < length; i++) {
        float g = gradient[i];
        float square = kept * squares[i] + added * (g * g);
        squares[i] = square;
        gradient[i] = rate * g / ((float) Math.sqrt(square) + epsilon);
      }
    }
  }
}
