package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import java.util.List;

/** Computes the built-in networks in a simple way and in double precision. */
final class ReferenceNetworks {

  private ReferenceNetworks() {}

  /** Mean loss of a batch as a function of all parameters in exchange order. */
  interface Loss {
    double of(double[] parameters, Batch batch);
  }

  /** Computes central differences of a loss; their error is about {@code h^2}. */
  static float[] gradient(Loss loss, float[] at, Batch batch) {
    double h = 1e-5;
    double[] parameters = new double[at.length];
    for (int i = 0; i < at.length; i++) {
      parameters[i] = at[i];
    }
    float[] gradient = new float[at.length];
    for (int i = 0; i < at.length; i++) {
      parameters[i] = at[i] + h;
      double above = loss.of(parameters, batch);
      parameters[i] = at[i] - h;
      gradient[i] = (float) ((above - loss.of(parameters, batch)) / (2 * h));
      parameters[i] = at[i];
    }
    return gradient;
  }

  /** Computes the loss for weights [hidden, in], bias, weights [10, hidden], bias. */
  static double mlp(double[] p, Batch batch, int hidden) {
    int inputs = batch.features().length / batch.count();
    double loss = 0;
    for (int n = 0; n < batch.count(); n++) {
      double[] x = sample(batch, n);
      double[] h = dense(p, 0, x, hidden);
      rectify(h);
      loss += loss(dense(p, hidden * inputs + hidden, h, 10), batch.labels()[n]);
    }
    return loss / batch.count();
  }

  /**
   * Computes the loss for bias [3], kernels [3, 1, 3, 3], weights [10, 3 * pooled area], bias [10].
   */
  static double convNet(double[] p, Batch batch) {
    List<Integer> shape = batch.shape();
    double loss = 0;
    for (int n = 0; n < batch.count(); n++) {
      double[] h = pooled(p, sample(batch, n), shape.get(1), shape.get(2));
      rectify(h);
      loss += loss(dense(p, 30, h, 10), batch.labels()[n]);
    }
    return loss / batch.count();
  }

  private static double[] pooled(double[] p, double[] x, int height, int width) {
    int rows = (height - 2) / 3;
    int columns = (width - 2) / 3;
    double[] pooled = new double[3 * rows * columns];
    for (int i = 0; i < pooled.length; i++) {
      int channel = i / (rows * columns);
      int top = i / columns % rows * 3;
      int left = i % columns * 3;
      pooled[i] = Double.NEGATIVE_INFINITY;
      for (int w = 0; w < 9; w++) {
        double sum = p[channel];
        for (int tap = 0; tap < 9; tap++) {
          int at = (top + w / 3 + tap / 3) * width + left + w % 3 + tap % 3;
          sum += p[3 + channel * 9 + tap] * x[at];
        }
        pooled[i] = Math.max(pooled[i], sum);
      }
    }
    return pooled;
  }

  private static double[] dense(double[] p, int first, double[] x, int units) {
    double[] y = new double[units];
    for (int k = 0; k < units; k++) {
      y[k] = p[first + units * x.length + k];
      for (int i = 0; i < x.length; i++) {
        y[k] += p[first + k * x.length + i] * x[i];
      }
    }
    return y;
  }

  private static void rectify(double[] h) {
    for (int i = 0; i < h.length; i++) {
      h[i] = Math.max(0, h[i]);
    }
  }

  private static double loss(double[] z, int label) {
    double sum = 0;
    for (double value : z) {
      sum += Math.exp(value);
    }
    return Math.log(sum) - z[label];
  }

  private static double[] sample(Batch batch, int n) {
    int size = batch.features().length / batch.count();
    double[] x = new double[size];
    for (int i = 0; i < size; i++) {
      x[i] = batch.features()[n * size + i];
    }
    return x;
  }
}
