package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertigrad.strategy.PartitionStore;
import java.util.List;

/**
 * Takes one step with the coordinate-wise trimmed mean of a round's gradients: of n values the
 * {@code trim} largest and smallest are dropped, the rest is averaged.
 *
 * <p>Up to {@code trim} workers may send anything at all, as long as {@code n > 2 trim}; with n = 2
 * trim + 1 it is the coordinate-wise median. Yin, Chen, Ramchandran, Bartlett: "Byzantine-Robust
 * Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
 *
 * <p>Workers count alike, whatever their batch. All gradients of a round are kept until it closes.
 *
 * @param trim values dropped at each end of every coordinate
 */
record TrimmedMean(int trim) implements Reduction {

  @Override
  public void reduce(List<GradientPartition> gradients, PartitionStore store) {
    List<TensorView> values = gradients.stream().map(GradientPartition::gradient).toList();
    TrimmedSum trimmed = TrimmedSum.of(values, trim);
    long samples = gradients.stream().mapToLong(GradientPartition::samples).sum();
    store.apply(trimmed.sum(), 1f / trimmed.kept(), samples);
  }
}
