package io.vertigrad.strategies;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.job.JobConfig;
import java.util.Arrays;

/**
 * Quasi-global momentum of Lin et al. 2021 (QG-DSGDm), for workers with unlike data. The momentum
 * follows from how far step and average together have moved the parameters, so it points where all
 * workers go, not where the own data alone lead:
 *
 * <pre>
 *   h    &lt;- x - rate (g + mu m)
 *   x'   &lt;- sum_j W_ij h_j
 *   m    &lt;- mu m + (1 - mu) (x - x') / rate
 * </pre>
 */
final class QuasiGlobalMomentum {

  private final OptimizerConfig optimizer;
  private final float mu;
  private final float[] values;

  QuasiGlobalMomentum(OptimizerConfig optimizer, int elements) {
    this.optimizer = optimizer;
    this.mu = (float) optimizer.momentum();
    this.values = new float[elements];
  }

  /**
   * Refuses a job whose optimizer has no such momentum.
   *
   * @throws io.vertigrad.compute.settings.SettingsException naming the key
   */
  static void check(JobConfig job) {
    OptimizerConfig optimizer = job.optimizer();
    boolean plain = optimizer.name().equals("sgd") && optimizer.dampening() == 0;
    if (!plain || optimizer.momentum() == 0) {
      throw job.settings()
          .section("strategy")
          .refuse(
              "momentum",
              ("is \"quasi-global\", expected an optimizer sgd with momentum, without dampening;"
                      + " found %s with momentum %s")
                  .formatted(optimizer.name(), optimizer.momentum()));
    }
  }

  /** Adds {@code mu m} to a gradient. */
  void addTo(float[] gradient) {
    for (int i = 0; i < values.length; i++) {
      gradient[i] += mu * values[i];
    }
  }

  /**
   * Updates the momentum after a step and an average.
   *
   * @param before the parameters before both
   * @param after the parameters after both
   * @param updates number of steps before this one
   * @param epochs passes over the training set before this step
   */
  void update(float[] before, float[] after, long updates, double epochs) {
    double rate = optimizer.learningRate() * optimizer.schedule().factor(updates, epochs);
    if (rate == 0) {
      return;
    }
    float share = (float) ((1 - mu) / rate);
    for (int i = 0; i < values.length; i++) {
      values[i] = mu * values[i] + share * (before[i] - after[i]);
    }
  }

  /** Returns a copy of the momentum. */
  float[] values() {
    return values.clone();
  }

  void restore(float[] earlier) {
    if (earlier.length == 0) {
      Arrays.fill(values, 0);
    } else {
      System.arraycopy(earlier, 0, values, 0, values.length);
    }
  }
}
