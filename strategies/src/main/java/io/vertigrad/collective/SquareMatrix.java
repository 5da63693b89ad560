package io.vertigrad.collective;

/** Products and the spectral radius of small square matrices in row-major order. */
final class SquareMatrix {

  private static final int SQUARINGS = 40;
  private static final double NOTHING = 1e-13;

  private SquareMatrix() {}

  /** Returns {@code a * b}. */
  static double[][] product(double[][] a, double[][] b) {
    int size = a.length;
    double[][] product = new double[size][size];
    for (int i = 0; i < size; i++) {
      for (int k = 0; k < size; k++) {
        if (a[i][k] != 0) {
          add(product[i], a[i][k], b[k]);
        }
      }
    }
    return product;
  }

  /**
   * Returns the largest magnitude of any eigenvalue, by Gelfand's formula: {@code |A^k|^(1/k)} for
   * {@code k = 2^40}, with repeated squaring and scaling. Accurate to about 1e-10; 0 for a
   * nilpotent matrix.
   */
  static double spectralRadius(double[][] a) {
    double logarithm = 0;
    double[][] power = a;
    double share = 1;
    for (int i = 0; i <= SQUARINGS; i++) {
      double norm = norm(power);
      if (norm < NOTHING) {
        return 0;
      }
      logarithm += share * Math.log(norm);
      power = scaled(power, 1 / norm);
      if (i < SQUARINGS) {
        power = product(power, power);
        share /= 2;
      }
    }
    return Math.exp(logarithm);
  }

  private static void add(double[] to, double factor, double[] row) {
    for (int j = 0; j < to.length; j++) {
      to[j] += factor * row[j];
    }
  }

  private static double norm(double[][] a) {
    double sum = 0;
    for (double[] row : a) {
      for (double value : row) {
        sum += value * value;
      }
    }
    return Math.sqrt(sum);
  }

  private static double[][] scaled(double[][] a, double factor) {
    double[][] scaled = new double[a.length][a.length];
    for (int i = 0; i < a.length; i++) {
      add(scaled[i], factor, a[i]);
    }
    return scaled;
  }
}
