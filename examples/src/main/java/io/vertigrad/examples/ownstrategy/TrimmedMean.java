package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertigrad.strategy.PartitionStore;
import java.util.List;

/**
 * Takes one step with the coordinate-wise trimmed mean of a round's gradients. It drops the {@code
 * trim} largest and smallest of n values and averages the others.
 *
 * <p>Up to {@code trim} workers may send arbitrary values, as long as {@code n > 2 trim}. With n =
 * 2 trim + 1 the result is the coordinate-wise median. Yin, Chen, Ramchandran, Bartlett:
 * "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
 *
 * <p>Every worker has the same weight, whatever its batch size. All gradients of a round are kept
 * until it closes. The scalar {@code cut.share} shows how much of their magnitude was cut.
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
    store.report("cut.share", trimmed.cutShare());
  }
}
