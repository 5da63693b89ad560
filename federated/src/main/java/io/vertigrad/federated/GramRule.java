package io.vertigrad.federated;

import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * A rule for whole vectors: from the inner products of a round's vectors to the coefficients of the
 * aggregate {@code sum_j c_j u_j}.
 *
 * <p>No rule fails because of the numbers in a finite matrix, and none needs a least number of
 * vectors to give a result. Below {@link #leastVectors} the result is the best that the rule can
 * do, but it no longer withstands that many wrong updates.
 */
sealed interface GramRule {

  /**
   * Returns the coefficients of the aggregate.
   *
   * @param gram inner products of the updates; for a rule that {@linkplain #usesPrevious() uses} it
   *     the previous aggregate is the last vector
   * @param weights one positive number per update, usually its training samples; only {@link Mean}
   *     and {@link GeometricMedian} use them
   * @return one coefficient per vector of the matrix, with the sum 1
   */
  double[] coefficients(GramMatrix gram, double[] weights);

  /** Returns true if the previous aggregate is the last vector of the matrix. */
  default boolean usesPrevious() {
    return false;
  }

  /** Returns the least number of updates with which the rule withstands so many wrong ones. */
  default int leastVectors(int liars) {
    return 2 * liars + 1;
  }

  /** The mean, weighted. It withstands no wrong update. */
  record Mean() implements GramRule {

    @Override
    public double[] coefficients(GramMatrix gram, double[] weights) {
      return shares(weights);
    }
  }

  /**
   * Krum and multi-Krum (P. Blanchard, E. El Mhamdi, R. Guerraoui, J. Stainer: Machine Learning
   * with Adversaries, NeurIPS 2017): the mean of the updates with the lowest scores. The score of
   * an update is the sum of its squared distances to its {@code n - f - 2} nearest others, at least
   * one. Of equal scores the one of the lower rank is taken. All updates have equal weight.
   *
   * @param liars number of wrong updates to withstand: f
   * @param kept number of updates in the mean: 1 for Krum; 0 for {@code n - f}
   */
  record Krum(int liars, int kept) implements GramRule {

    /** Checks the numbers. */
    public Krum {
      requireAtLeast("liars", liars, 0);
      requireAtLeast("kept", kept, 0);
    }

    @Override
    public double[] coefficients(GramMatrix gram, double[] weights) {
      int size = gram.size();
      double[] scores = IntStream.range(0, size).mapToDouble(i -> score(gram, i)).toArray();
      int mean = Math.max(1, Math.min(size, kept == 0 ? size - liars : kept));
      double[] coefficients = new double[size];
      IntStream.range(0, size)
          .boxed()
          .sorted(Comparator.comparingDouble(i -> scores[i]))
          .limit(mean)
          .forEach(i -> coefficients[i] = 1.0 / mean);
      return coefficients;
    }

    private double score(GramMatrix gram, int i) {
      double[] squared = new double[gram.size() - 1];
      for (int j = 0; j < squared.length; j++) {
        squared[j] = gram.squaredDistance(i, j < i ? j : j + 1);
      }
      Arrays.sort(squared);
      int nearest = Math.min(squared.length, Math.max(1, gram.size() - liars - 2));
      return Arrays.stream(squared, 0, nearest).sum();
    }

    @Override
    public int leastVectors(int wrong) {
      return 2 * wrong + 3;
    }
  }

  /**
   * The geometric median by the smoothed Weiszfeld algorithm (K. Pillutla, S. Kakade, Z. Harchaoui:
   * Robust Aggregation for Federated Learning, IEEE Trans. Signal Processing 2022): {@code z <-
   * sum_i b_i u_i / sum_i b_i, b_i = w_i / max(smoothing, |u_i - z|)}. It withstands wrong updates
   * with less than half of the weight. A worker counts its own samples, so with weights a liar can
   * claim that half; with equal weights it cannot.
   *
   * <p>The iteration does not start at the mean, which one update can move any distance away. It
   * starts one step from the update that has the least sum of distances to all others.
   *
   * @param smoothing distance below which an update's weight grows no more, above 0
   * @param iterations most steps; fewer when the coefficients change by less than 1e-12
   */
  record GeometricMedian(double smoothing, int iterations) implements GramRule {

    private static final double CONVERGED = 1e-12;

    /** Checks the numbers. */
    public GeometricMedian {
      if (!(smoothing > 0)) {
        throw new IllegalArgumentException("smoothing " + smoothing + ": expected more than 0");
      }
      requireAtLeast("iterations", iterations, 1);
    }

    /** Creates a rule with the smoothing of the paper's experiments, 1e-6, and 100 steps. */
    public GeometricMedian() {
      this(1e-6, 100);
    }

    @Override
    public double[] coefficients(GramMatrix gram, double[] weights) {
      double[] shares = shares(weights);
      double[] squared = new double[0];
      double least = Double.POSITIVE_INFINITY;
      for (int i = 0; i < shares.length; i++) {
        double[] unit = new double[shares.length];
        unit[i] = 1;
        double[] from = gram.squaredDistancesTo(unit);
        double sum = objective(shares, from);
        if (sum < least) {
          least = sum;
          squared = from;
        }
      }
      double[] point = step(shares, squared, Math.max(smoothing, median(shares, squared)));
      double change = 1;
      for (int i = 0; i < iterations && change > CONVERGED; i++) {
        double[] next = step(shares, gram.squaredDistancesTo(point), smoothing);
        change = 0;
        for (int j = 0; j < next.length; j++) {
          change = Math.max(change, Math.abs(next[j] - point[j]));
        }
        point = next;
      }
      return point;
    }

    private static double objective(double[] shares, double[] squared) {
      double sum = 0;
      for (int i = 0; i < shares.length; i++) {
        sum += shares[i] * Math.sqrt(squared[i]);
      }
      return sum;
    }

    private static double[] step(double[] shares, double[] squared, double smoothing) {
      double[] next = new double[shares.length];
      for (int i = 0; i < next.length; i++) {
        next[i] = shares[i] / Math.max(smoothing, Math.sqrt(squared[i]));
      }
      return shares(next);
    }

    /** Returns the least distance within which there is half of the weight. */
    private static double median(double[] shares, double[] squared) {
      int[] order =
          IntStream.range(0, shares.length)
              .boxed()
              .sorted(Comparator.comparingDouble(i -> squared[i]))
              .mapToInt(i -> i)
              .toArray();
      double within = 0;
      for (int i : order) {
        within += shares[i];
        if (within >= 0.5) {
          return Math.sqrt(squared[i]);
        }
      }
      return Math.sqrt(squared[order[order.length - 1]]);
    }
  }

  /**
   * Centred clipping (S. P. Karimireddy, L. He, M. Jaggi: Learning from History for Byzantine
   * Robust Optimization, ICML 2021): {@code v <- v + 1/n sum_i (u_i - v) min(1, radius / |u_i -
   * v|)}, starting at the previous aggregate. All updates have equal weight. One step moves by at
   * most the radius, of which f wrong updates decide at most the share f/n.
   *
   * @param radius longest difference that counts in full; 0 for the median of the differences of
   *     each step, the lower one of an even number
   * @param iterations number of steps, at least 1
   */
  record CentredClipping(double radius, int iterations) implements GramRule {

    /** Checks the numbers. */
    public CentredClipping {
      if (!(radius >= 0)) {
        throw new IllegalArgumentException("radius " + radius + ": expected at least 0");
      }
      requireAtLeast("iterations", iterations, 1);
    }

    @Override
    public boolean usesPrevious() {
      return true;
    }

    @Override
    public double[] coefficients(GramMatrix gram, double[] weights) {
      double[] point = new double[gram.size()];
      point[gram.size() - 1] = 1;
      for (int i = 0; i < iterations; i++) {
        step(point, gram.squaredDistancesTo(point));
      }
      return point;
    }

    /**
     * Returns the coefficients after one step, from distances alone: {@link
     * GramProducts#addSquaredDistances} computes them in one pass over the updates. It is the same
     * as {@link #coefficients} with one iteration, within rounding.
     *
     * @param squaredDistances of each update from the previous aggregate
     * @return one coefficient per update, and that of the previous aggregate
     */
    double[] coefficients(double[] squaredDistances) {
      double[] point = new double[squaredDistances.length + 1];
      point[squaredDistances.length] = 1;
      step(point, Arrays.copyOf(squaredDistances, point.length));
      return point;
    }

    /** Takes one step, given the distances of the updates (and of the last vector, unused). */
    private void step(double[] point, double[] squared) {
      int updates = point.length - 1;
      double longest = radius > 0 ? radius : median(Arrays.copyOf(squared, updates));
      double[] factors = new double[updates];
      double sum = 0;
      for (int i = 0; i < updates; i++) {
        factors[i] = Math.min(1, longest / Math.sqrt(squared[i])) / updates;
        sum += factors[i];
      }
      for (int i = 0; i < point.length; i++) {
        point[i] = point[i] * (1 - sum) + (i < updates ? factors[i] : 0);
      }
    }

    private static double median(double[] squared) {
      Arrays.sort(squared);
      return Math.max(Double.MIN_NORMAL, Math.sqrt(squared[(squared.length - 1) / 2]));
    }
  }

  /** Returns the numbers divided by their sum. */
  private static double[] shares(double[] weights) {
    double sum = Arrays.stream(weights).sum();
    return Arrays.stream(weights).map(weight -> weight / sum).toArray();
  }

  private static void requireAtLeast(String name, int value, int least) {
    if (value < least) {
      throw new IllegalArgumentException(
          "%s %s: expected at least %s".formatted(name, value, least));
    }
  }
}
