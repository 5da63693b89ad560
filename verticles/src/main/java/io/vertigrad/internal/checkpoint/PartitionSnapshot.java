package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;

/**
 * One partition at one version, as a checkpoint holds it. Its arrays belong to it and never change.
 *
 * @param index index of the partition
 * @param first index of its first element in the exchange vector
 * @param version updates applied
 * @param samples training samples applied
 * @param parameters its elements
 * @param state the optimizer's state, empty if there is none
 * @param window the last update of each worker that was applied or refused for good
 * @param ledger outcomes of all updates up to {@code version}
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

  /** Creates a snapshot without a ledger, where updates are not counted. */
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

  /** Returns a copy of this snapshot with the given ledger. */
  public PartitionSnapshot with(LedgerSnapshot updates) {
    return new PartitionSnapshot(
        index, first, version, samples, parameters, state, window, updates);
  }
}
