package io.vertigrad.federated;

import java.util.Arrays;
import java.util.Objects;

/**
 * A rule after a mixing: from the inner products of the updates to the coefficients of the updates.
 *
 * <p>Mixed vectors have equal weight. Without a mixing the rule's weights are the ones given. The
 * weighted mean needs no mixing, so it is the same with every one.
 *
 * @param rule applied to the mixed vectors
 * @param mixing of the updates
 */
record MixedRule(GramRule rule, Mixing mixing) {

  MixedRule {
    Objects.requireNonNull(rule, "rule");
    Objects.requireNonNull(mixing, "mixing");
  }

  /**
   * Returns the coefficients of the aggregate.
   *
   * @param gram inner products of the updates, and of the previous aggregate as the last vector if
   *     the rule uses it
   * @param weights one positive number per update, usually its training samples
   * @param round number of the round
   * @return one coefficient per vector of the matrix, with the sum 1
   */
  double[] coefficients(GramMatrix gram, double[] weights, long round) {
    int updates = gram.size() - (rule.usesPrevious() ? 1 : 0);
    if (weights.length != updates) {
      throw new IllegalArgumentException(
          "%s weights, %s updates: expected one weight per update"
              .formatted(weights.length, updates));
    }
    if (mixing instanceof Mixing.None || rule instanceof GramRule.Mean) {
      return rule.coefficients(gram, weights);
    }
    double[][] matrix = mixing.matrix(gram, updates, round);
    double[] equal = new double[matrix.length];
    Arrays.fill(equal, 1);
    return Mixing.unmixed(rule.coefficients(gram.mixed(matrix), equal), matrix);
  }
}
