package io.vertigrad.federated;

/**
 * Inner products, distances and combinations of float32 vectors, for one thread.
 *
 * <p>Products are rounded to float32 and summed in float32 over at most 128 elements, and then in
 * double. So a sum has a relative error of at most about {@code 1e-5} of the product of the norms,
 * usually far less. Where float32 overflows, the same elements are summed in double again. Equal
 * vectors of equal length give equal bits.
 */
final class GramProducts {

  /** Elements of a vector that are summed together: eleven vectors of them fit the L2 cache. */
  private static final int BLOCK = 4096;

  /** Partial sums of a block. */
  private static final int LANES = 512;

  /** Partial sums that remain after halving. */
  private static final int LAST_LANES = 32;

  private final float[] lanes = new float[LANES];
  private final double[] combined = new double[BLOCK];

  /**
   * Adds the inner products of all pairs of vectors: {@code products += <u_i[from..to),
   * u_j[from..to)>}.
   *
   * @param vectors finite elements
   * @param products upper triangle by rows, as of {@link GramMatrix}
   */
  void add(float[][] vectors, int from, int to, double[] products) {
    int first = from;
    for (; first + BLOCK <= to; first += BLOCK) {
      int next = 0;
      for (int i = 0; i < vectors.length; i++) {
        for (int j = i; j < vectors.length; j++) {
          products[next++] += block(vectors[i], vectors[j], first);
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
    for (; first + BLOCK <= to; first += BLOCK) {
      for (int i = 0; i < vectors.length; i++) {
        squares[i] += squaredBlock(vectors[i], centre, first);
      }
    }
    for (int i = 0; i < vectors.length; i++) {
      squares[i] += exactSquares(vectors[i], centre, first, to);
    }
  }

  /**
   * Computes a combination: {@code result[at + k] = sum_j c_j u_j[from + k]} for k below the
   * length, in double, rounded once. Vectors with the coefficient 0 are not read.
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
      for (int k = 0; k < count; k++) {
        combined[k] = 0;
      }
      for (int j = 0; j < vectors.length; j++) {
        if (coefficients[j] != 0) {
          addScaled(vectors[j], first, coefficients[j], count);
        }
      }
      for (int k = 0; k < count; k++) {
        result[at + done + k] = (float) combined[k];
      }
    }
  }

  private void addScaled(float[] vector, int first, double factor, int count) {
    for (int k = 0; k < count; k++) {
      combined[k] += factor * vector[first + k];
    }
  }

  private double block(float[] a, float[] b, int at) {
    float[] sums = lanes;
    for (int k = 0; k < LANES; k++) {
      sums[k] =
          a[at + k] * b[at + k]
              + a[at + LANES + k] * b[at + LANES + k]
              + a[at + 2 * LANES + k] * b[at + 2 * LANES + k]
              + a[at + 3 * LANES + k] * b[at + 3 * LANES + k]
              + a[at + 4 * LANES + k] * b[at + 4 * LANES + k]
              + a[at + 5 * LANES + k] * b[at + 5 * LANES + k]
              + a[at + 6 * LANES + k] * b[at + 6 * LANES + k]
              + a[at + 7 * LANES + k] * b[at + 7 * LANES + k];
    }
    double sum = sumOfLanes();
    return Double.isFinite(sum) ? sum : exact(a, b, at, at + BLOCK);
  }

  private double squaredBlock(float[] vector, float[] centre, int at) {
    float[] sums = lanes;
    for (int k = 0; k < LANES; k++) {
      sums[k] = 0;
    }
    for (int first = at; first < at + BLOCK; first += LANES) {
      for (int k = 0; k < LANES; k++) {
        float difference = vector[first + k] - centre[first + k];
        sums[k] += difference * difference;
      }
    }
    double sum = sumOfLanes();
    return Double.isFinite(sum) ? sum : exactSquares(vector, centre, at, at + BLOCK);
  }

  private double sumOfLanes() {
    float[] sums = lanes;
    for (int half = LANES / 2; half >= LAST_LANES; half /= 2) {
      for (int k = 0; k < half; k++) {
        sums[k] += sums[half + k];
      }
    }
    double sum = 0;
    for (int k = 0; k < LAST_LANES; k++) {
      sum += sums[k];
    }
    return sum;
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
