package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.Block;
import io.vertigrad.federated.FederatedConfig.Rule;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.PartitionStore;
import java.util.Arrays;
import java.util.List;

/**
 * Steps one partition with the updates of one round: {@code p <- p - rate sum_i w_i u_i}, where
 * {@code u_i} is how far worker {@code i} has moved.
 *
 * <ul>
 *   <li>The weights are {@code p_i = n_i / sum n}, by the samples behind each update.
 *   <li>SCAFFOLD: {@code 1 / N}, as its control variates need it.
 *   <li>FedNova: {@code p_i (sum_j p_j a_j) / a_i}, with {@code a_i} of {@link LocalWork}: each
 *       worker's mean step counts by its samples, however many steps it took. Wang et al.,
 *       "Tackling the objective inconsistency problem in heterogeneous federated optimization",
 *       2020.
 *   <li>FedAdam and FedYogi: the sum is the pseudo-gradient of {@link AdaptiveStep}.
 * </ul>
 *
 * <p>Statistics are averaged by samples in every rule.
 */
final class FederatedRound implements Barrier.Reduction {

  private final Rule rule;
  private final LocalWork work;
  private final boolean trainable;
  private final RobustReduction.Step step;
  private final float[] sum;

  /** Creates the sums of a partition, which takes its steps with them. */
  FederatedRound(Rule rule, LocalWork work, Partition partition, RobustReduction.Step step) {
    this.rule = rule;
    this.work = work;
    this.trainable = partition.kind() == Block.Kind.TRAINABLE;
    this.step = step;
    this.sum = new float[partition.length()];
  }

  @Override
  public void reduce(List<GradientPartition> updates, PartitionStore store) {
    Arrays.fill(sum, 0);
    double[] weights = weights(updates);
    for (int i = 0; i < weights.length; i++) {
      updates.get(i).gradient().addTo(sum, 0, (float) weights[i]);
    }
    step.take(sum, samples(updates));
  }

  /** Returns the factor of each update. */
  private double[] weights(List<GradientPartition> updates) {
    double all = samples(updates);
    double[] weights = updates.stream().mapToDouble(update -> update.samples() / all).toArray();
    if (trainable && rule == Rule.SCAFFOLD) {
      Arrays.fill(weights, 1.0 / weights.length);
    } else if (trainable && rule == Rule.FEDNOVA) {
      double[] own =
          updates.stream().mapToDouble(update -> work.accumulation(update.samples())).toArray();
      double effective = 0;
      for (int i = 0; i < own.length; i++) {
        effective += weights[i] * own[i];
      }
      for (int i = 0; i < own.length; i++) {
        weights[i] *= effective / own[i];
      }
    }
    return weights;
  }

  private static long samples(List<GradientPartition> updates) {
    return updates.stream().mapToLong(GradientPartition::samples).sum();
  }
}
