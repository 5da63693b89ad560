package io.vertigrad.federated;

import java.util.Arrays;

/**
 * Inner products, distances and combinations of float32 vectors, for one thread.
 *
 * <p>Products are rounded to float32 and summed in float32 over 32 elements, and then in double. So
 * the error of a sum is at most about {@code 2e-6} of the product of the norms, usually far less.
 * Where float32 overflows, the same elements are summed in double again. Equal vectors give equal
 * bits.
 *
 * <p>The compiler vectorises a loop only when it has one result array and uses the same index in
 * every array. So blocks of the vectors are copied to rows of their own first.
 */
final class GramProducts {

  /** Elements of a row; a sum is kept for each. */
  private static final int LANES = 256;

  private static final int HALF = LANES / 2;

  /** Rows of a vector that are multiplied together. */
  private static final int ROWS = 16;

  /** Elements of a vector that are multiplied together: ten vectors of them fit the L2 cache. */
  private static final int BLOCK = ROWS * LANES;

  private final float[] sums = new float[LANES];
  private final float[] upper = new float[HALF];
  private final double[] combined = new double[BLOCK];
  private float[][][] rows = new float[0][][];

  /**
   * Adds the inner products of all pairs of vectors: {@code products += <u_i[from..to),
   * u_j[from..to)>}.
   *
   * @param vectors finite elements
   * @param products upper triangle by rows, as of {@link GramMatrix}
   */
  void add(float[][] vectors, int from, int to, double[] products) {
    int first = from;
    reserve(vectors.length);
    for (; first + BLOCK <= to; first += BLOCK) {
      for (int i = 0; i < vectors.length; i++) {
        load(vectors[i], first, rows[i]);
      }
      int next = 0;
      for (int i = 0; i < vectors.length; i++) {
        for (int j = i; j < vectors.length; j++) {
          double sum = sumOfProducts(rows[i], rows[j]);
          products[next++] +=
              Double.isFinite(sum) ? sum : exact(vectors[i], vectors[j], first, first + BLOCK);
        }
      }
    }
    int next = 0;
    for (int i = 0; i < vectors.length; i++) {
      for (int j = i; j < vectors.length; j++) {
        products[next++] += exact(vectors[i], vectors[j], first, to);
      }
    }
  }

  /**
   * Adds the squared distance of each vector from a centre: {@code squares[i] += |u_i[from..to) -
   * centre[from..to)|^2}. It reads each vector once.
   *
   * @param vectors finite elements
   * @param centre finite elements
   * @param squares one sum per vector
   */
  void addSquaredDistances(float[][] vectors, float[] centre, int from, int to, double[] squares) {
    int first = from;
    reserve(2);
    for (; first + BLOCK <= to; first += BLOCK) {
      load(centre, first, rows[0]);
      for (int i = 0; i < vectors.length; i++) {
        load(vectors[i], first, rows[1]);
        double sum = sumOfSquares(rows[1], rows[0]);
        squares[i] +=
            Double.isFinite(sum) ? sum : exactSquares(vectors[i], centre, first, first + BLOCK);
      }
    }
    for (int i = 0; i < vectors.length; i++) {
      squares[i] += exactSquares(vectors[i], centre, first, to);
    }
  }

  /**
   * Adds the inner product of each vector with another one: {@code products[i] += <u_i[from..to),
   * other[from..to)>}. It reads each vector once.
   *
   * @param vectors finite elements
   * @param other finite elements
   * @param products one sum per vector
   */
  void addProducts(float[][] vectors, float[] other, int from, int to, double[] products) {
    int first = from;
    reserve(2);
    for (; first + BLOCK <= to; first += BLOCK) {
      load(other, first, rows[0]);
      for (int i = 0; i < vectors.length; i++) {
        load(vectors[i], first, rows[1]);
        double sum = sumOfProducts(rows[1], rows[0]);
        products[i] += Double.isFinite(sum) ? sum : exact(vectors[i], other, first, first + BLOCK);
      }
    }
    for (int i = 0; i < vectors.length; i++) {
      products[i] += exact(vectors[i], other, first, to);
    }
  }

  /**
   * Computes a combination: {@code result[at + k] = sum_j c_j u_j[from + k]} for k below the
   * length, in double, rounded once.
   *
   * @param vectors finite elements
   * @param coefficients one per vector
   * @param result may be one of the vectors if {@code at} is {@code from}
   */
  void combine(
      float[][] vectors, double[] coefficients, int from, int length, float[] result, int at) {
    for (int done = 0; done < length; done += BLOCK) {
      int first = from + done;
      int count = Math.min(BLOCK, length - done);
      Arrays.fill(combined, 0, count, 0);
      for (int j = 0; j < vectors.length; j += 4) {
        addScaled(vectors, coefficients, j, first, count);
      }
      for (int k = 0; k < count; k++) {
        result[at + done + k] = (float) combined[k];
      }
    }
  }

  /** Adds up to four vectors at once. */
  private void addScaled(float[][] vectors, double[] factors, int j, int first, int count) {
    double[] to = combined;
    int last = vectors.length - 1;
    double f0 = factors[j];
    double f1 = j + 1 > last ? 0 : factors[j + 1];
    double f2 = j + 2 > last ? 0 : factors[j + 2];
    double f3 = j + 3 > last ? 0 : factors[j + 3];
    if (f0 == 0 && f1 == 0 && f2 == 0 && f3 == 0) {
      return;
    }
    float[] v0 = vectors[j];
    float[] v1 = vectors[Math.min(j + 1, last)];
    float[] v2 = vectors[Math.min(j + 2, last)];
    float[] v3 = vectors[Math.min(j + 3, last)];
    for (int k = 0; k < count; k++) {
      int at = first + k;
      to[k] += f0 * v0[at] + f1 * v1[at] + (f2 * v2[at] + f3 * v3[at]);
    }
  }

  private void reserve(int vectors) {
    if (rows.length < vectors) {
      rows = new float[vectors][ROWS][LANES];
    }
  }

  private static void load(float[] vector, int first, float[][] rows) {
    for (int row = 0; row < ROWS; row++) {
      System.arraycopy(vector, first + row * LANES, rows[row], 0, LANES);
    }
  }

  private double sumOfProducts(float[][] a, float[][] b) {
    Arrays.fill(sums, 0);
    for (int i = 0; i < ROWS; i += 4) {
      addProducts(sums, a[i], b[i], a[i + 1], b[i + 1], a[i + 2], b[i + 2], a[i + 3], b[i + 3]);
    }
    return sumOfLanes();
  }

  private double sumOfSquares(float[][] vector, float[][] centre) {
    Arrays.fill(sums, 0);
    for (int row = 0; row < ROWS; row++) {
      addSquares(sums, vector[row], centre[row]);
    }
    return sumOfLanes();
  }

  private static void addProducts(
      float[] sums,
      float[] a0,
      float[] b0,
      float[] a1,
      float[] b1,
      float[] a2,
      float[] b2,
      float[] a3,
      float[] b3) {
    for (int k = 0; k < LANES; k++) {
      sums[k] += a0[k] * b0[k] + a1[k] * b1[k] + (a2[k] * b2[k] + a3[k] * b3[k]);
    }
  }

  private static void addSquares(float[] sums, float[] vector, float[] centre) {
    for (int k = 0; k < LANES; k++) {
      sums[k] += (vector[k] - centre[k]) * (vector[k] - centre[k]);
    }
  }

  private double sumOfLanes() {
    System.arraycopy(sums, HALF, upper, 0, HALF);
    addUpper(sums, upper);
    double sum0 = 0;
    double sum1 = 0;
    double sum2 = 0;
    double sum3 = 0;
    for (int k = 0; k < HALF; k += 4) {
      sum0 += sums[k];
      sum1 += sums[k + 1];
      sum2 += sums[k + 2];
      sum3 += sums[k + 3];
    }
    return sum0 + sum1 + (sum2 + sum3);
  }

  private static void addUpper(float[] sums, float[] upper) {
    for (int k = 0; k < HALF; k++) {
      sums[k] += upper[k];
    }
  }

  private static double exact(float[] a, float[] b, int from, int to) {
    double sum = 0;
    for (int k = from; k < to; k++) {
      sum += (double) a[k] * b[k];
    }
    return sum;
  }

  private static double exactSquares(float[] vector, float[] centre, int from, int to) {
    double sum = 0;
    for (int k = from; k < to; k++) {
      double difference = (double) vector[k] - centre[k];
      sum += difference * difference;
    }
    return sum;
  }
}
