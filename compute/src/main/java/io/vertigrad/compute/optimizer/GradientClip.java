package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/**
 * Limits the norm of a gradient (Pascanu, Mikolov and Bengio, 2013): {@code g *= min(1, longest /
 * |g|)}, where |g| is the L2 norm over all trainable elements of the model.
 */
public final class GradientClip {

  private GradientClip() {}

  /**
   * Returns the factor that limits a gradient's norm.
   *
   * @param norm of the gradient
   * @param longest largest allowed norm; 0 for no limit
   * @return 1 when the norm is small enough or not finite; callers check for NaN and infinity
   *     themselves
   */
  public static float factor(double norm, double longest) {
    boolean tooLong = longest > 0 && norm > longest && Double.isFinite(norm);
    return tooLong ? (float) (longest / norm) : 1f;
  }

  /**
   * Computes the norm of the remaining elements of the buffer without moving its position.
   *
   * @param gradient from the buffer's position to its limit
   * @return the Euclidean norm
   */
  public static double norm(FloatBuffer gradient) {
    double squares = 0;
    for (int i = gradient.position(); i < gradient.limit(); i++) {
      double value = gradient.get(i);
      squares += value * value;
    }
    return Math.sqrt(squares);
  }

  /**
   * Scales the first elements of a gradient so that their norm does not exceed the limit.
   *
   * @param length number of elements that are scaled; later elements do not change
   * @param longest largest allowed norm; 0 for no limit
   * @return true when the gradient was scaled
   */
  public static boolean clip(float[] gradient, int length, double longest) {
    float factor = factor(norm(FloatBuffer.wrap(gradient, 0, length)), longest);
    if (factor == 1) {
      return false;
    }
    for (int i = 0; i < length; i++) {
      gradient[i] *= factor;
    }
    return true;
  }
}
