package io.vertigrad.federated;

/**
 * The inner products of the vectors of a round: {@code product(i, j) = <u_i, u_j>}.
 *
 * <p>The vectors are the workers' updates in rank order, and after them the previous aggregate for
 * a rule that {@linkplain GramRule#usesPrevious() uses} it. A point is given by its coefficients:
 * {@code sum_j c_j u_j}. Distances between points follow from the matrix alone. Finite float32
 * vectors of any size give finite numbers. A squared distance has an error of about {@code 1e-16}
 * of the larger squared norm, or of the error of the products if that is larger.
 *
 * <p>Immutable.
 */
final class GramMatrix {

  private final int size;
  private final double[] products;

  /**
   * Creates a matrix.
   *
   * @param size number of vectors, at least 1
   * @param products upper triangle by rows: {@code (0,0), (0,1), .., (1,1), (1,2), ..}; not copied
   */
  GramMatrix(int size, double[] products) {
    if (size < 1 || products.length != elements(size)) {
      throw new IllegalArgumentException(
          "%s inner products of %s vectors: expected at least 1 vector and %s products"
              .formatted(products.length, size, elements(size)));
    }
    this.size = size;
    this.products = products;
  }

  /** Returns the number of inner products of so many vectors: {@code size (size + 1) / 2}. */
  static int elements(int size) {
    return Math.multiplyExact(size, size + 1) / 2;
  }

  /** Returns the number of vectors. */
  int size() {
    return size;
  }

  /** Returns the inner product of two vectors. */
  double product(int i, int j) {
    int row = Math.min(i, j);
    return products[row * size - row * (row - 1) / 2 + Math.abs(i - j)];
  }

  /** Returns the squared distance of two vectors, at least 0. */
  double squaredDistance(int i, int j) {
    return Math.max(0, product(i, i) - 2 * product(i, j) + product(j, j));
  }

  /** Returns the inner product of every vector with a point. */
  double[] productsWith(double[] point) {
    double[] with = new double[size];
    for (int i = 0; i < size; i++) {
      for (int j = 0; j < size; j++) {
        if (point[j] != 0) {
          with[i] += point[j] * product(i, j);
        }
      }
    }
    return with;
  }

  /** Returns the squared norm of a point, at least 0. */
  double squaredNorm(double[] point) {
    return Math.max(0, dot(point, productsWith(point)));
  }

  /** Returns the squared distance of every vector from a point, each at least 0. */
  double[] squaredDistancesTo(double[] point) {
    double[] with = productsWith(point);
    double norm = Math.max(0, dot(point, with));
    double[] squared = new double[size];
    for (int i = 0; i < size; i++) {
      squared[i] = Math.max(0, product(i, i) - 2 * with[i] + norm);
    }
    return squared;
  }

  /**
   * Returns the matrix of mixed vectors: {@code M G M^T}. A last vector beyond the columns of the
   * mixing, which is the previous aggregate, stays as it is.
   *
   * @param mixing row i has the weights of the i-th mixed vector
   */
  GramMatrix mixed(double[][] mixing) {
    int columns = mixing[0].length;
    int kept = size - columns;
    int mixed = mixing.length + kept;
    double[][] points = new double[mixed][size];
    for (int i = 0; i < mixing.length; i++) {
      System.arraycopy(mixing[i], 0, points[i], 0, columns);
    }
    for (int i = 0; i < kept; i++) {
      points[mixing.length + i][columns + i] = 1;
    }
    double[] upper = new double[elements(mixed)];
    int next = 0;
    for (int i = 0; i < mixed; i++) {
      double[] with = productsWith(points[i]);
      for (int j = i; j < mixed; j++) {
        upper[next++] = dot(points[j], with);
      }
    }
    return new GramMatrix(mixed, upper);
  }

  private static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] == 0 ? 0 : a[i] * b[i];
    }
    return sum;
  }
}
