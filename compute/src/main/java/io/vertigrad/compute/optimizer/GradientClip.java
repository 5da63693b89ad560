package io.vertigrad.compute.optimizer;

import java.nio.FloatBuffer;

/**
 * Limits the length of a gradient (Pascanu, Mikolov and Bengio, 2013): {@code g *= min(1, longest /
 * |g|)}, |g| the L2 norm over all trainable elements of the model.
 */
public final class GradientClip {

  private GradientClip() {}

  /**
   * What to multiply a gradient by.
   *
   * @param norm its length
   * @param longest the length it may have; 0 for no limit
   * @return 1 when it is short enough or its length is not finite, which is for others to refuse
   */
  public static float factor(double norm, double longest) {
    boolean tooLong = longest > 0 && norm > longest && Double.isFinite(norm);
    return tooLong ? (float) (longest / norm) : 1f;
  }

  /**
   * The length of what remains in the buffer, whose position stays.
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
}
