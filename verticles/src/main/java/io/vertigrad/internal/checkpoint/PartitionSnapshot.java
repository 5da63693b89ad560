package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;

/**
 * One partition at one version, as kept in a checkpoint; its arrays belong to it and never change.
 *
 * @param index index of the partition
 * @param first index of its first element in the exchange vector
 * @param version updates applied
 * @param samples training samples applied
 * @param parameters its elements
 * @param state the optimizer's state, empty where there is none
 * @param window the last update of each worker that is in {@code parameters} or was turned away
 * @param ledger what became of every update up to {@code version}
 */
public record PartitionSnapshot(
    int index,
    int first,
    long version,
    long samples,
    float[] parameters,
    float[] state,
    List<DuplicateWindow.Entry> window,
    LedgerSnapshot ledger) {

  public PartitionSnapshot {
    window = List.copyOf(window);
  }

  /** A snapshot without a ledger, of whoever counts no updates. */
  public PartitionSnapshot(
      int index,
      int first,
      long version,
      long samples,
      float[] parameters,
      float[] state,
      List<DuplicateWindow.Entry> window) {
    this(index, first, version, samples, parameters, state, window, LedgerSnapshot.EMPTY);
  }

  /** Returns the same with what became of every update. */
  public PartitionSnapshot with(LedgerSnapshot updates) {
    return new PartitionSnapshot(
        index, first, version, samples, parameters, state, window, updates);
  }
}
