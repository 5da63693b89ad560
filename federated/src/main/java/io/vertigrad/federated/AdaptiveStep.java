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

  AdaptiveStep(FederatedConfig config, PartitionStore store) {
    this.config = config;
    this.store = store;
    this.length = store.length();
    this.memory = store.memory(2 * length + 1);
  }

  /** Replaces a pseudo-gradient by the step, which is to be subtracted as it is. */
  void replace(float[] gradient) {
    store.keepMemory();
    double tau = config.tau();
    if (memory[2 * length] == 0) {
      Arrays.fill(memory, length, 2 * length, (float) (tau * tau));
      memory[2 * length] = 1;
    }
    for (int i = 0; i < length; i++) {
      double g = gradient[i];
      double square = g * g;
      double m = config.beta1() * memory[i] + (1 - config.beta1()) * g;
      double before = memory[length + i];
      double v =
          config.rule() == Rule.FEDADAM
              ? config.beta2() * before + (1 - config.beta2()) * square
              : before - (1 - config.beta2()) * square * Math.signum(before - square);
      memory[i] = (float) m;
      memory[length + i] = (float) v;
      gradient[i] = (float) (config.serverLearningRate() * m / (Math.sqrt(v) + tau));
    }
  }
}
