package io.vertigrad.federated;

import io.vertigrad.compute.data.SplitMix64;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Replaces the updates of a round by means of some of them before a rule is applied. Each mixed
 * vector is {@code sum_j M_ij u_j}, with rows of equal weights that sum to 1.
 */
sealed interface Mixing {

  /** Leaves the updates as they are. */
  Mixing NONE = new None();

  /**
   * Returns the matrix M: one row per mixed vector, one column per update.
   *
   * @param gram inner products of the updates, and possibly of vectors after them
   * @param updates number of updates, at least 1
   * @param round number of the round, for a choice that differs from round to round
   */
  double[][] matrix(GramMatrix gram, int updates, long round);

  /** Returns the number of mixed vectors of so many updates. */
  default int vectors(int updates) {
    return updates;
  }

  /**
   * Returns the coefficients of the updates, given those of the mixed vectors: {@code c M}.
   * Coefficients beyond the mixed vectors, of the previous aggregate, stay as they are.
   */
  static double[] unmixed(double[] coefficients, double[][] matrix) {
    int updates = matrix[0].length;
    int others = coefficients.length - matrix.length;
    double[] unmixed = new double[updates + others];
    for (int i = 0; i < matrix.length; i++) {
      for (int j = 0; j < updates; j++) {
        unmixed[j] += coefficients[i] * matrix[i][j];
      }
    }
    System.arraycopy(coefficients, matrix.length, unmixed, updates, others);
    return unmixed;
  }

  /** Leaves the updates as they are. */
  record None() implements Mixing {

    @Override
    public double[][] matrix(GramMatrix gram, int updates, long round) {
      double[][] matrix = new double[updates][updates];
      for (int i = 0; i < updates; i++) {
        matrix[i][i] = 1;
      }
      return matrix;
    }
  }

  /**
   * Means of random buckets (S. P. Karimireddy, L. He, M. Jaggi: Byzantine-Robust Learning on
   * Heterogeneous Datasets via Bucketing, ICLR 2022). The updates are permuted, and every {@code
   * size} of them in a row become one vector; the last bucket may have fewer. f wrong updates make
   * at most f wrong vectors.
   *
   * @param size updates of a bucket, at least 1
   * @param seed of the permutations; together with the round it decides the permutation
   */
  record Buckets(int size, long seed) implements Mixing {

    /** Separates the numbers drawn here from others with the job's seed. */
    private static final long STREAM = 0x6275636B65747321L;

    /** Checks the numbers. */
    public Buckets {
      if (size < 1) {
        throw new IllegalArgumentException("bucket of " + size + ": expected at least 1");
      }
    }

    @Override
    public int vectors(int updates) {
      return (updates + size - 1) / size;
    }

    @Override
    public double[][] matrix(GramMatrix gram, int updates, long round) {
      int[] order = new SplitMix64(seed, STREAM, round).permutation(updates);
      double[][] matrix = new double[vectors(updates)][updates];
      for (int i = 0; i < updates; i++) {
        int bucket = i / size;
        matrix[bucket][order[i]] = 1.0 / Math.min(size, updates - bucket * size);
      }
      return matrix;
    }
  }

  /**
   * Nearest-neighbour mixing (Y. Allouah, S. Farhadkhani, R. Guerraoui, N. Gupta, R. Pinot, J.
   * Stephan: Fixing by Mixing, AISTATS 2023): each update becomes the mean of the {@code n - f}
   * updates nearest to it, itself included. Of equal distances the lower rank is taken.
   *
   * @param liars number of wrong updates to withstand: f
   */
  record Neighbours(int liars) implements Mixing {

    /** Checks the numbers. */
    public Neighbours {
      if (liars < 0) {
        throw new IllegalArgumentException("liars " + liars + ": expected at least 0");
      }
    }

    @Override
    public double[][] matrix(GramMatrix gram, int updates, long round) {
      int nearest = Math.max(1, updates - liars);
      double[][] matrix = new double[updates][updates];
      for (int i = 0; i < updates; i++) {
        int own = i;
        IntStream.range(0, updates)
            .boxed()
            .sorted(Comparator.comparingDouble(j -> j == own ? -1 : gram.squaredDistance(own, j)))
            .limit(nearest)
            .forEach(j -> matrix[own][j] = 1.0 / nearest);
      }
      return matrix;
    }
  }
}
