package io.vertigrad.engine.dl4j.kernels;

/** Softmax and cross-entropy of one sample, computed in double precision. */
final class Softmax {

  private static final double SMALLEST = 1e-10;

  private Softmax() {}

  /**
   * Returns true when the class that {@code y} marks has the highest score {@code z + bias}; of
   * equal scores the first is the prediction.
   */
  static boolean isCorrect(float[] z, float[] bias, float[] y) {
    int best = 0;
    for (int k = 1; k < z.length; k++) {
      best = z[k] + bias[k] > z[best] + bias[best] ? k : best;
    }
    return y[best] != 0;
  }

  /**
   * Replaces scores by the gradient {@code p - y} of the loss {@code -sum(y log p)}, where {@code p
   * = softmax(z + bias)}. In the loss, p is clipped away from 0 as in DL4J.
   *
   * @return the loss
   */
  static double toGradient(float[] z, float[] bias, float[] y) {
    double most = Double.NEGATIVE_INFINITY;
    for (int k = 0; k < z.length; k++) {
      z[k] += bias[k];
      most = Math.max(most, z[k]);
    }
    double sum = 0;
    for (float value : z) {
      sum += Math.exp(value - most);
    }
    double loss = 0;
    for (int k = 0; k < z.length; k++) {
      double p = Math.exp(z[k] - most) / sum;
      if (y[k] != 0) {
        loss -= y[k] * Math.log(Math.max(p, SMALLEST));
      }
      z[k] = (float) (p - y[k]);
    }
    return loss;
  }
}
