package io.vertigrad.strategy;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertx.core.Future;
import java.util.List;
import java.util.TreeMap;

/**
 * A round that keeps every gradient, in rank order, until it closes. The memory of borrowed ones is
 * used again after their step: allocating it anew would cost more than the copies.
 */
final class KeptRound implements Barrier.Round {

  private final TensorMemory memory = TensorMemory.outsideHeapUpTo(0);
  private final Reduction reduction;
  private final TreeMap<Integer, GradientPartition> kept = new TreeMap<>();
  private List<GradientPartition> closed = List.of();

  KeptRound(Reduction reduction) {
    this.reduction = reduction;
  }

  @Override
  public void hold(GradientPartition update) {
    TensorView gradient = update.gradient();
    if (gradient instanceof BorrowedTensor) {
      gradient = memory.copyOf(gradient);
      // A round may be dropped, and its memory with it.
      TensorMemory.leave(gradient);
    }
    kept.put(update.id().worker(), update.with(gradient));
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
    gradients.forEach(update -> memory.giveBack(update.gradient()));
  }

  @Override
  public void reset() {
    kept.clear();
    closed = List.of();
  }
}
