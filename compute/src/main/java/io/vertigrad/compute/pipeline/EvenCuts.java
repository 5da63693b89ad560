package io.vertigrad.compute.pipeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Divides a list of costs into runs of neighbours so that the most expensive run costs as little as
 * possible. The result is exact: dynamic programming over prefixes.
 */
public final class EvenCuts {

  private EvenCuts() {}

  /**
   * Returns for each run but the last the index of its last cost.
   *
   * @param costs at least as many as runs, none negative
   * @param runs number of runs
   * @return one index less than there are runs, ascending
   */
  public static List<Integer> of(double[] costs, int runs) {
    if (runs < 1 || costs.length < runs) {
      throw new IllegalArgumentException(
          "%s runs of %s costs: expected 1 to %s".formatted(runs, costs.length, costs.length));
    }
    double[] prefix = new double[costs.length + 1];
    for (int i = 0; i < costs.length; i++) {
      prefix[i + 1] = prefix[i] + costs[i];
    }
    int[][] starts = new int[runs + 1][costs.length + 1];
    double[] worst = new double[costs.length + 1];
    Arrays.fill(worst, Double.POSITIVE_INFINITY);
    worst[0] = 0;
    for (int run = 1; run <= runs; run++) {
      worst = extend(worst, prefix, starts[run]);
    }
    return ends(starts, runs, costs.length);
  }

  /**
   * Computes for every prefix the smallest possible maximum with one more run, and where that run
   * starts.
   */
  private static double[] extend(double[] before, double[] prefix, int[] starts) {
    double[] worst = new double[before.length];
    Arrays.fill(worst, Double.POSITIVE_INFINITY);
    for (int end = 1; end < worst.length; end++) {
      for (int start = 0; start < end; start++) {
        double cost = Math.max(before[start], prefix[end] - prefix[start]);
        if (cost < worst[end]) {
          worst[end] = cost;
          starts[end] = start;
        }
      }
    }
    return worst;
  }

  private static List<Integer> ends(int[][] starts, int runs, int length) {
    List<Integer> ends = new ArrayList<>();
    int end = length;
    for (int run = runs; run > 1; run--) {
      end = starts[run][end];
      ends.add(0, end - 1);
    }
    return ends;
  }
}
