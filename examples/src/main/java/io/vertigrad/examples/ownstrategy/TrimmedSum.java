package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.TensorView;
import java.util.Arrays;
import java.util.List;

/**
 * The sum of each coordinate without its largest and smallest values.
 *
 * @param sum one value per coordinate
 * @param kept number of gradients in each value
 * @param cutShare what was cut of the sum of all magnitudes, 0 to 1; NaN when it is 0 or not finite
 */
record TrimmedSum(float[] sum, int kept, double cutShare) {

  /**
   * Sorts each coordinate of {@code n} gradients and adds up all but {@code trim} at each end. With
   * too few gradients for that, it keeps the middle one or two.
   */
  static TrimmedSum of(List<TensorView> gradients, int trim) {
    int n = gradients.size();
    int cut = Math.min(trim, (n - 1) / 2);
    float[][] rows = gradients.stream().map(TrimmedSum::values).toArray(float[][]::new);
    float[] sum = new float[rows[0].length];
    float[] column = new float[n];
    double all = 0;
    double taken = 0;
    for (int i = 0; i < sum.length; i++) {
      for (int row = 0; row < n; row++) {
        column[row] = rows[row][i];
      }
      Arrays.sort(column);
      for (float value : column) {
        all += Math.abs(value);
      }
      for (int k = cut; k < n - cut; k++) {
        sum[i] += column[k];
        taken += Math.abs(column[k]);
      }
    }
    return new TrimmedSum(sum, n - 2 * cut, (all - taken) / all);
  }

  private static float[] values(TensorView gradient) {
    float[] values = new float[gradient.length()];
    gradient.copyTo(values, 0);
    return values;
  }
}
