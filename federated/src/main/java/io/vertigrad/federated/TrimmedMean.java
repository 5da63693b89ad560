package io.vertigrad.federated;

import java.util.Arrays;

/**
 * The coordinate-wise trimmed mean and median (D. Yin, Y. Chen, K. Ramchandran, P. Bartlett:
 * Byzantine-Robust Distributed Learning, ICML 2018): of every coordinate the lowest and the highest
 * values are dropped and the rest is averaged. The median drops all but one value, or all but two
 * of an even number. All updates have equal weight.
 *
 * <p>With at most as many wrong updates as values are dropped at each end, every coordinate of the
 * result is between the least and the greatest right value of that coordinate, whatever the wrong
 * ones are. The sum is in double, so it does not overflow.
 *
 * <p>Has memory of its own; for one thread.
 */
final class TrimmedMean {

  /** Elements of a row that are sorted together. */
  private static final int BLOCK = 1024;

  private final int dropped;
  private final int end;
  private final SortingNetwork network;

  /** One for each vector, and a spare one. */
  private final float[][] rows;

  private final double[] sums = new double[BLOCK];
  private final float[] loaded = new float[BLOCK];

  /**
   * Creates a trimmed mean.
   *
   * @param vectors number of vectors, at least 1
   * @param dropped number of values to drop at each end; with fewer than {@code 2 dropped + 1}
   *     vectors it is the median
   */
  TrimmedMean(int vectors, int dropped) {
    if (vectors < 1 || dropped < 0) {
      throw new IllegalArgumentException(
          "%s vectors, %s values dropped at each end: expected at least 1 and 0"
              .formatted(vectors, dropped));
    }
    this.dropped = Math.min(dropped, (vectors - 1) / 2);
    end = vectors - this.dropped;
    network = new SortingNetwork(vectors, this.dropped, end);
    rows = new float[vectors + 1][BLOCK];
  }

  /** Returns the median of so many vectors. */
  static TrimmedMean median(int vectors) {
    return new TrimmedMean(vectors, vectors);
  }

  /** Returns the number of vectors that are reduced. */
  int vectors() {
    return rows.length - 1;
  }

  /**
   * Reduces the elements from..to of the vectors into the same elements of the result.
   *
   * @param vectors finite elements; unchanged
   * @param result may be one of the vectors
   */
  void reduce(float[][] vectors, int from, int to, float[] result) {
    requireRows(vectors.length);
    for (int first = from; first < to; first += BLOCK) {
      int count = Math.min(BLOCK, to - first);
      for (int i = 0; i < vectors(); i++) {
        System.arraycopy(vectors[i], first, rows[i], 0, count);
      }
      reduceRows(first, count, result);
    }
  }

  /**
   * Reduces mixed vectors: {@code sum_j M_ij u_j}, in float32.
   *
   * @param vectors finite elements; unchanged
   * @param mixing one row for each of {@link #vectors}, one column per vector
   * @param result may be one of the vectors
   */
  void reduce(float[][] vectors, double[][] mixing, int from, int to, float[] result) {
    requireRows(mixing.length);
    for (int first = from; first < to; first += BLOCK) {
      int count = Math.min(BLOCK, to - first);
      for (int i = 0; i < vectors(); i++) {
        Arrays.fill(rows[i], 0, count, 0);
      }
      for (int j = 0; j < vectors.length; j++) {
        System.arraycopy(vectors[j], first, loaded, 0, count);
        for (int i = 0; i < vectors(); i++) {
          if (mixing[i][j] != 0) {
            addScaled(rows[i], loaded, (float) mixing[i][j], count);
          }
        }
      }
      reduceRows(first, count, result);
    }
  }

  private static void addScaled(float[] row, float[] vector, float factor, int count) {
    for (int k = 0; k < count; k++) {
      row[k] += factor * vector[k];
    }
  }

  private void requireRows(int given) {
    if (given != vectors()) {
      throw new IllegalArgumentException(
          "%s vectors: expected the %s that this reduction was made for"
              .formatted(given, vectors()));
    }
  }

  private void reduceRows(int first, int count, float[] result) {
    network.sort(rows, count);
    if (end - dropped == 1) {
      System.arraycopy(rows[dropped], 0, result, first, count);
      return;
    }
    for (int k = 0; k < count; k++) {
      sums[k] = 0;
    }
    for (int i = dropped; i < end; i++) {
      addRow(rows[i], count);
    }
    double kept = end - dropped;
    for (int k = 0; k < count; k++) {
      result[first + k] = (float) (sums[k] / kept);
    }
  }

  private void addRow(float[] row, int count) {
    for (int k = 0; k < count; k++) {
      sums[k] += row[k];
    }
  }
}
