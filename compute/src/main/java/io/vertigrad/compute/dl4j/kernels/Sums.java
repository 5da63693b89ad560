package io.vertigrad.compute.dl4j.kernels;

/**
 * Sums over Java arrays with eight running totals, which the processor adds in parallel; a single
 * one would wait for itself. The order is fixed, so results repeat bit for bit.
 */
final class Sums {

  private Sums() {}

  static float sum(float[] x, int count) {
    float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    int i = 0;
    for (; i + 7 < count; i += 8) {
      a += x[i];
      b += x[i + 1];
      c += x[i + 2];
      d += x[i + 3];
      e += x[i + 4];
      f += x[i + 5];
      g += x[i + 6];
      h += x[i + 7];
    }
    for (; i < count; i++) {
      a += x[i];
    }
    return a + b + (c + d) + (e + f + (g + h));
  }

  /** Sum of {@code (x - mean)^2}. */
  static float squares(float[] x, int count, float mean) {
    for (int i = 0; i < count; i++) {
      float distance = x[i] - mean;
      x[i] = distance * distance;
    }
    return sum(x, count);
  }

  /** Sum of {@code y (x - mean)}; overwrites both. */
  static float products(float[] y, float[] x, int count, float mean) {
    for (int i = 0; i < count; i++) {
      y[i] *= x[i] - mean;
    }
    return sum(y, count);
  }
}
