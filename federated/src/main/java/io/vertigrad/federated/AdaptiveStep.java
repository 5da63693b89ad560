package io.vertigrad.federated;

import io.vertigrad.federated.FederatedConfig.Rule;
import io.vertigrad.strategy.PartitionStore;
import java.util.Arrays;

/**
 * The outer step of FedAdam and FedYogi with the pseudo-gradient {@code g}, the mean of how far the
 * workers have moved. Reddi et al., "Adaptive federated optimization", 2021, without correction of
 * the bias, as there:
 *
 * <pre>
 *   m &lt;- beta1 m + (1 - beta1) g
 *   v &lt;- beta2 v + (1 - beta2) g^2                  FedAdam
 *   v &lt;- v - (1 - beta2) g^2 sign(v - g^2)          FedYogi
 *   p &lt;- p - rate m / (sqrt(v) + tau)               m = 0, v = tau^2 at first
 * </pre>
 *
 * <p>Both moments are in the partition's memory, which its checkpoints have.
 */
final class AdaptiveStep {

  private final FederatedConfig config;
  private final PartitionStore store;
  private final int length;
  private final float[] memory;
  private final int mean;
  private final int square;
  private final int begun;

  /**
   * Creates the step of a partition.
   *
   * @param memory of the partition
   * @param first index of the first of {@link #memory} elements in it that are for this step
   */
  AdaptiveStep(FederatedConfig config, PartitionStore store, float[] memory, int first) {
    this.config = config;
    this.store = store;
    this.length = store.length();
    this.memory = memory;
    this.mean = first;
    this.square = first + length;
    this.begun = first + 2 * length;
  }

  /** Returns the number of elements that the step keeps for a partition of a length. */
  static int memory(int length) {
    return 2 * length + 1;
  }

  /** Replaces a pseudo-gradient by the step, which is to be subtracted as it is. */
  void replace(float[] gradient) {
    store.keepMemory();
    double tau = config.tau();
    if (memory[begun] == 0) {
      Arrays.fill(memory, square, square + length, (float) (tau * tau));
      memory[begun] = 1;
    }
    for (int i = 0; i < length; i++) {
      double g = gradient[i];
      double squared = g * g;
      double m = config.beta1() * memory[mean + i] + (1 - config.beta1()) * g;
      double before = memory[square + i];
      double v =
          config.rule() == Rule.FEDADAM
              ? config.beta2() * before + (1 - config.beta2()) * squared
              : before - (1 - config.beta2()) * squared * Math.signum(before - squared);
      memory[mean + i] = (float) m;
      memory[square + i] = (float) v;
      gradient[i] = (float) (config.serverLearningRate() * m / (Math.sqrt(v) + tau));
    }
  }
}
