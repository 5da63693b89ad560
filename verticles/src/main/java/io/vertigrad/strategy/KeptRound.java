package io.vertigrad.strategy;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertx.core.Future;
import java.util.List;
import java.util.TreeMap;

/** A round that keeps every gradient, in rank order, until it closes. */
final class KeptRound implements Barrier.Round {

  private final Reduction reduction;
  private final TreeMap<Integer, GradientPartition> kept = new TreeMap<>();
  private List<GradientPartition> closed = List.of();

  KeptRound(Reduction reduction) {
    this.reduction = reduction;
  }

  @Override
  public void hold(GradientPartition update) {
    kept.put(update.id().worker(), update.retain());
  }

  /** Does nothing: this round never holds borrowed memory. */
  @Override
  public void retain() {}

  @Override
  public void leave(int rank) {
    kept.remove(rank);
  }

  @Override
  public Future<?> prepare(PartitionStore store) {
    closed = List.copyOf(kept.values());
    kept.clear();
    return reduction.prepare(closed, store);
  }

  @Override
  public void applyTo(PartitionStore store) {
    List<GradientPartition> gradients = closed;
    closed = List.of();
    reduction.reduce(gradients, store);
  }

  @Override
  public void reset() {
    kept.clear();
    closed = List.of();
  }
}
