package io.vertigrad.internal.strategy;

import java.util.Random;

/**
 * Linear regression with random samples: mean of {@code (x . w - y)^2 / 2}, with the gradient in
 * double precision.
 */
final class LeastSquares {

  private final double[][] x;
  private final double[] y;

  LeastSquares(Random random, int weights, int samples) {
    x = new double[samples][weights];
    y = new double[samples];
    for (int s = 0; s < samples; s++) {
      for (int i = 0; i < weights; i++) {
        x[s][i] = random.nextGaussian();
        y[s] += x[s][i] * (i - 1);
      }
    }
  }

  /** Returns the mean gradient over samples {@code [first, first + count)} at weights {@code w}. */
  double[] gradient(double[] w, int first, int count) {
    double[] gradient = new double[w.length];
    for (int s = first; s < first + count; s++) {
      double error = -y[s];
      for (int i = 0; i < w.length; i++) {
        error += x[s][i] * w[i];
      }
      for (int i = 0; i < w.length; i++) {
        gradient[i] += error * x[s][i] / count;
      }
    }
    return gradient;
  }
}
