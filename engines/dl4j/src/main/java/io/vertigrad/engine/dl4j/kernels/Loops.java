package io.vertigrad.engine.dl4j.kernels;

/**
 * Loops over the first {@code count} elements of arrays. Each is short enough for the compiler to
 * vectorise it: one result array, and every array is read at the same index.
 */
final class Loops {

  private Loops() {}

  /** Computes {@code sum += x}. */
  static void add(float[] sum, float[] x, int count) {
    for (int i = 0; i < count; i++) {
      sum[i] += x[i];
    }
  }

  /** Computes {@code sum += x - origin}. */
  static void addDifference(float[] sum, float[] x, float[] origin, int count) {
    for (int i = 0; i < count; i++) {
      sum[i] += x[i] - origin[i];
    }
  }

  /** Computes {@code sum += (x - origin)^2}. */
  static void addSquaredDifference(float[] sum, float[] x, float[] origin, int count) {
    for (int i = 0; i < count; i++) {
      sum[i] += (x[i] - origin[i]) * (x[i] - origin[i]);
    }
  }

  /** Computes {@code sum += y (x - origin)}. */
  static void addProduct(float[] sum, float[] y, float[] x, float[] origin, int count) {
    for (int i = 0; i < count; i++) {
      sum[i] += y[i] * (x[i] - origin[i]);
    }
  }

  /** Computes {@code x = scale x + offset}. */
  static void scale(float[] x, float[] scale, float[] offset, int count) {
    for (int i = 0; i < count; i++) {
      x[i] = x[i] * scale[i] + offset[i];
    }
  }

  /** Computes {@code x = max(x, 0)}. */
  static void rectify(float[] x, int count) {
    for (int i = 0; i < count; i++) {
      x[i] = Math.max(x[i], 0f);
    }
  }
}
