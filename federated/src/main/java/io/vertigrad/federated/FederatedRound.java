package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.federated.FederatedConfig.Rule;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

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
 * <p>Statistics are averaged by samples in every rule. Updates of workers that do not take part in
 * the round are left out.
 *
 * <p>With a {@link RobustReduction} its aggregate takes the place of the sum. The updates count
 * alike then; those of FedNova are {@code u_i (sum_j p_j a_j) / a_i}.
 */
final class FederatedRound implements Barrier.Reduction {

  private final Rule rule;
  private final Participation participation;
  private final LocalWork work;
  private final PartitionStore store;
  private final int ranks;
  private final boolean trainable;
  private final Optional<AdaptiveStep> adaptive;
  private final Optional<RobustReduction> robust;
  private final float[] sum;
  private List<GradientPartition> updates = List.of();

  FederatedRound(
      FederatedConfig config,
      ReductionConfig reduction,
      Participation participation,
      LocalWork work,
      ServerStrategyContext context) {
    this.rule = config.rule();
    this.participation = participation;
    this.work = work;
    this.store = context.store();
    this.ranks = context.ranks();
    this.trainable = context.partition().kind() == Block.Kind.TRAINABLE;
    int length = context.partition().length();
    this.sum = new float[length];
    boolean adapts = rule.adapts() && trainable;
    int kept = reduction.memory(context.partition());
    int elements = kept + (adapts ? AdaptiveStep.memory(length) : 0);
    float[] memory = elements == 0 ? new float[0] : store.memory(elements);
    this.adaptive =
        adapts ? Optional.of(new AdaptiveStep(config, store, memory, kept)) : Optional.empty();
    this.robust =
        reduction.isPlainMean()
            ? Optional.empty()
            : Optional.of(
                new RobustReduction(
                    reduction,
                    context,
                    memory,
                    this::step,
                    facts -> RobustReduction.report(facts, store)));
  }

  @Override
  public Future<?> prepare(List<GradientPartition> all, PartitionStore unused) {
    updates = participating(all, store.version());
    if (robust.isEmpty() || updates.isEmpty()) {
      return Future.succeededFuture();
    }
    if (trainable && rule == Rule.FEDNOVA) {
      updates = normalised(updates);
    }
    return robust.get().prepare(updates, store);
  }

  @Override
  public void reduce(List<GradientPartition> all, PartitionStore unused) {
    List<GradientPartition> round = updates;
    updates = List.of();
    if (robust.isPresent() && !round.isEmpty()) {
      robust.get().reduce(round, store);
      return;
    }
    Arrays.fill(sum, 0);
    double[] weights = weights(round);
    for (int i = 0; i < weights.length; i++) {
      round.get(i).gradient().addTo(sum, 0, (float) weights[i]);
    }
    step(sum, samples(round));
  }

  private void step(float[] aggregate, long samples) {
    adaptive.filter(found -> samples > 0).ifPresent(found -> found.replace(aggregate));
    store.apply(aggregate, 1, samples);
  }

  private List<GradientPartition> participating(List<GradientPartition> all, long version) {
    if (participation.isFull()) {
      return all;
    }
    BitSet chosen = participation.chosen(version, Math.max(ranks, all.size()));
    return all.stream().filter(update -> chosen.get(update.id().worker())).toList();
  }

  /** Returns the factor of each update. */
  private double[] weights(List<GradientPartition> round) {
    double[] weights = shares(round);
    if (trainable && rule == Rule.SCAFFOLD) {
      Arrays.fill(weights, 1.0 / weights.length);
    } else if (trainable && rule == Rule.FEDNOVA) {
      double[] factors = normalisation(round, weights);
      Arrays.setAll(weights, i -> weights[i] * factors[i]);
    }
    return weights;
  }

  /** Returns the part that each update has in the samples of a round. */
  private static double[] shares(List<GradientPartition> round) {
    double all = samples(round);
    return round.stream().mapToDouble(update -> update.samples() / all).toArray();
  }

  /** Returns what makes each update one of the mean number of steps. */
  private double[] normalisation(List<GradientPartition> round, double[] shares) {
    double[] own =
        round.stream().mapToDouble(update -> work.accumulation(update.samples())).toArray();
    double effective = IntStream.range(0, own.length).mapToDouble(i -> shares[i] * own[i]).sum();
    return DoubleStream.of(own).map(each -> effective / each).toArray();
  }

  private List<GradientPartition> normalised(List<GradientPartition> round) {
    double[] factors = normalisation(round, shares(round));
    return IntStream.range(0, factors.length)
        .mapToObj(
            i -> {
              float[] scaled = new float[sum.length];
              round.get(i).gradient().addTo(scaled, 0, (float) factors[i]);
              return round.get(i).with(Tensor.ofFloats(scaled));
            })
        .toList();
  }

  private static long samples(List<GradientPartition> round) {
    return round.stream().mapToLong(GradientPartition::samples).sum();
  }
}
