package io.vertigrad.compute.data;

import java.util.function.IntPredicate;

/**
 * Draws proportions from the symmetric Dirichlet distribution; the same seed gives the same bits on
 * every machine.
 *
 * <p>Proportions are gamma variates divided by their sum. Marsaglia, Tsang: "A simple method for
 * generating gamma variables", ACM TOMS 26 (2000). Logarithms are kept, because variates of a small
 * alpha are too small for a double.
 *
 * @param alpha concentration: above 0; the larger, the more alike the proportions
 */
record DirichletSampler(double alpha) {

  /**
   * Draws one proportion for each place.
   *
   * @param random is drawn from
   * @param places number of proportions
   * @param takesPart places that share; the others have 0. At least one must
   * @return proportions whose sum is 1
   */
  double[] draw(SplitMix64 random, int places, IntPredicate takesPart) {
    double[] logs = new double[places];
    double largest = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < places; i++) {
      // Drawn for every place, so that the next numbers do not depend on who takes part.
      double log = logOfGamma(random);
      logs[i] = takesPart.test(i) ? log : Double.NEGATIVE_INFINITY;
      largest = Math.max(largest, logs[i]);
    }
    double sum = 0;
    for (int i = 0; i < places; i++) {
      logs[i] = StrictMath.exp(logs[i] - largest);
      sum += logs[i];
    }
    for (int i = 0; i < places; i++) {
      logs[i] /= sum;
    }
    return logs;
  }

  private double logOfGamma(SplitMix64 random) {
    double shape = alpha < 1 ? alpha + 1 : alpha;
    double d = shape - 1.0 / 3;
    double c = 1 / Math.sqrt(9 * d);
    while (true) {
      double x = normal(random);
      double root = 1 + c * x;
      double v = root * root * root;
      double logOfUniform = StrictMath.log(1 - random.uniform());
      if (v > 0 && logOfUniform < x * x / 2 + d - d * v + d * StrictMath.log(v)) {
        double log = StrictMath.log(d * v);
        return alpha < 1 ? log + StrictMath.log(1 - random.uniform()) / alpha : log;
      }
    }
  }

  /**
   * Returns a normal number by the polar method; that of {@link SplitMix64} is an approximation.
   */
  private static double normal(SplitMix64 random) {
    while (true) {
      double x = random.between(-1, 1);
      double y = random.between(-1, 1);
      double square = x * x + y * y;
      if (square > 0 && square < 1) {
        return x * Math.sqrt(-2 * StrictMath.log(square) / square);
      }
    }
  }
}
