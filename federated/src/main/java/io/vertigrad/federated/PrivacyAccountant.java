package io.vertigrad.federated;

import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * The privacy that updates with Gaussian noise keep: epsilon for a delta, by the Rényi divergence
 * of the subsampled Gaussian mechanism.
 *
 * <p>An update is clipped to the norm C, and noise with the standard deviation {@code sigma C} is
 * added to every element, see {@link UpdatePrivacy}. Someone who sees the updates of all rounds can
 * then tell by at most {@code (epsilon, delta)} whether a worker took part. Neighbouring runs
 * differ by one worker that takes part or sends zeros.
 *
 * <p>A sampling rate below 1 is only right when each worker takes part in a round independently
 * with that probability, and when the observer does not know which workers took part. A server
 * knows that, and so does everyone who knows the seed of the choice: use the rate 1 against them.
 *
 * <p>Sources: divergence of integer orders and of fractional orders by I. Mironov, K. Talwar, L.
 * Zhang, Rényi Differential Privacy of the Sampled Gaussian Mechanism, 2019, section 3.3;
 * conversion by B. Balle, G. Barthe, M. Gaboardi, J. Hsu, T. Sato, Hypothesis Testing
 * Interpretations and Rényi Differential Privacy, AISTATS 2020, and C. Canonne, G. Kamath, T.
 * Steinke, The Discrete Gaussian for Differential Privacy, NeurIPS 2020, proposition 12.
 *
 * <p>Immutable.
 */
public final class PrivacyAccountant {

  /** Fractional orders resolve strong noise, high orders resolve few rounds. */
  private static final double[] ORDERS =
      DoubleStream.concat(
              IntStream.range(1, 100).mapToDouble(tenths -> 1 + tenths / 10.0),
              DoubleStream.concat(
                  IntStream.range(11, 64).asDoubleStream(), DoubleStream.of(80, 128, 256, 512)))
          .toArray();

  /** An alternating series ends at the first term below this part of its sum: 1e-10. */
  private static final double LOG_LAST_TERM = -23;

  /** The series of the normal integral is used up to here, the continued fraction beyond. */
  private static final double SERIES_LIMIT = 3;

  private static final int FRACTION_TERMS = 40;

  private final double[] divergences;

  /**
   * Creates an accountant.
   *
   * @param noiseMultiplier standard deviation of the noise divided by the norm of a clipped update:
   *     sigma, at least 0
   * @param samplingRate probability that a worker takes part in a round, above 0 and at most 1
   */
  public PrivacyAccountant(double noiseMultiplier, double samplingRate) {
    if (!(noiseMultiplier >= 0) || !(samplingRate > 0 && samplingRate <= 1)) {
      throw new IllegalArgumentException(
          "noise multiplier %s, sampling rate %s: expected at least 0, and from 0 to 1"
              .formatted(noiseMultiplier, samplingRate));
    }
    divergences =
        Arrays.stream(ORDERS)
            .map(order -> divergence(samplingRate, noiseMultiplier, order))
            .toArray();
  }

  /**
   * Returns the epsilon that holds after some rounds.
   *
   * @param rounds number of rounds, at least 0
   * @param delta probability for which epsilon need not hold, above 0 and below 1
   * @return epsilon, at least 0; infinite without noise
   */
  public double epsilon(long rounds, double delta) {
    if (rounds < 0 || !(delta > 0 && delta < 1)) {
      throw new IllegalArgumentException(
          "%s rounds, delta %s: expected at least 0, and from 0 to 1".formatted(rounds, delta));
    }
    if (rounds == 0) {
      return 0;
    }
    double least = Double.POSITIVE_INFINITY;
    for (int i = 0; i < ORDERS.length; i++) {
      least = Math.min(least, epsilon(rounds * divergences[i], ORDERS[i], delta));
    }
    return Math.max(0, least);
  }

  /**
   * Returns the delta that holds after some rounds.
   *
   * @param rounds number of rounds, at least 0
   * @param epsilon at least 0
   * @return delta, from 0 to 1; 1 without noise
   */
  public double delta(long rounds, double epsilon) {
    if (rounds < 0 || !(epsilon >= 0)) {
      throw new IllegalArgumentException(
          "%s rounds, epsilon %s: expected at least 0".formatted(rounds, epsilon));
    }
    if (rounds == 0) {
      return 0;
    }
    double least = 0;
    for (int i = 0; i < ORDERS.length; i++) {
      double order = ORDERS[i];
      double log =
          (order - 1) * (rounds * divergences[i] - epsilon + Math.log1p(-1 / order))
              - Math.log(order);
      least = Math.min(least, log);
    }
    return Math.exp(least);
  }

  /** Converts the divergence of one order to the epsilon of a delta; possibly negative. */
  static double epsilon(double divergence, double order, double delta) {
    return divergence + Math.log1p(-1 / order) - (Math.log(delta) + Math.log(order)) / (order - 1);
  }

  /**
   * Returns the Rényi divergence of one round.
   *
   * @param rate sampling rate, from 0 to 1
   * @param sigma noise multiplier, at least 0
   * @param order above 1, whole or not
   * @return the divergence in nats; infinite without noise
   */
  static double divergence(double rate, double sigma, double order) {
    if (rate == 0) {
      return 0;
    }
    if (sigma == 0) {
      return Double.POSITIVE_INFINITY;
    }
    if (rate == 1) {
      return order / (2 * sigma * sigma);
    }
    double log =
        order == Math.rint(order)
            ? logMomentOfWhole(rate, sigma, (int) order)
            : logMomentOfFraction(rate, sigma, order);
    return Math.max(0, log) / (order - 1);
  }

  /** {@code log sum_k C(a, k) (1-q)^(a-k) q^k exp((k^2 - k) / (2 sigma^2))}. */
  private static double logMomentOfWhole(double rate, double sigma, int order) {
    double sum = Double.NEGATIVE_INFINITY;
    double logBinomial = 0;
    for (int k = 0; k <= order; k++) {
      sum = logSum(sum, logBinomial + logTerm(rate, sigma, k, order - k));
      logBinomial += Math.log((double) (order - k) / (k + 1));
    }
    return sum;
  }

  /**
   * The integral of the moment is split where both densities of the mixture are equal. On each side
   * the power of the sum is a binomial series that converges there. Beyond the order its terms
   * alternate and shrink. The rest of the series is taken as a geometric one with the last ratio.
   */
  private static double logMomentOfFraction(double rate, double sigma, double order) {
    double split = sigma * sigma * Math.log(1 / rate - 1) + 0.5;
    double positive = Double.NEGATIVE_INFINITY;
    double negative = Double.NEGATIVE_INFINITY;
    double logBinomial = 0;
    double previous = 0;
    boolean adds = true;
    for (int k = 0; ; k++) {
      double left = logTerm(rate, sigma, k, order - k) + logUpperTail((k - split) / sigma);
      double right =
          logTerm(rate, sigma, order - k, k) + logUpperTail((split - (order - k)) / sigma);
      double term = logBinomial + logSum(left, right);
      boolean last = k > order && term < positive + LOG_LAST_TERM;
      if (last) {
        term -= Math.log1p(Math.exp(term - previous));
      }
      if (adds) {
        positive = logSum(positive, term);
      } else {
        negative = logSum(negative, term);
      }
      if (last) {
        return logDifference(positive, negative);
      }
      previous = term;
      double factor = (order - k) / (k + 1);
      logBinomial += Math.log(Math.abs(factor));
      adds ^= factor < 0;
    }
  }

  /** {@code log(q^k (1-q)^rest exp((k^2 - k) / (2 sigma^2)))}. */
  private static double logTerm(double rate, double sigma, double k, double rest) {
    return k * Math.log(rate) + rest * Math.log1p(-rate) + (k * k - k) / (2 * sigma * sigma);
  }

  private static double logSum(double a, double b) {
    double larger = Math.max(a, b);
    return larger == Double.NEGATIVE_INFINITY
        ? larger
        : larger + Math.log1p(Math.exp(Math.min(a, b) - larger));
  }

  private static double logDifference(double larger, double smaller) {
    return larger + Math.log1p(-Math.exp(smaller - larger));
  }

  /** Returns the logarithm of the probability that a standard normal number is above x. */
  static double logUpperTail(double x) {
    if (x < 0) {
      return Math.log1p(-Math.exp(logUpperTail(-x)));
    }
    double logDensity = -x * x / 2 - Math.log(2 * Math.PI) / 2;
    if (x > SERIES_LIMIT) {
      double fraction = x;
      for (int k = FRACTION_TERMS; k > 0; k--) {
        fraction = x + k / fraction;
      }
      return logDensity - Math.log(fraction);
    }
    double term = x;
    double sum = x;
    for (int k = 1; term > sum * 1e-17; k++) {
      term *= x * x / (2 * k + 1);
      sum += term;
    }
    return Math.log(0.5 - Math.exp(logDensity) * sum);
  }
}
