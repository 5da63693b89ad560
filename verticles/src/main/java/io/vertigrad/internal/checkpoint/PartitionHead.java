package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;

/**
 * A checkpoint's metadata of one partition.
 *
 * @param index index of the partition
 * @param first index of its first element in the exchange vector
 * @param version updates applied
 * @param samples training samples applied
 * @param window the last update of each worker that was applied or refused for good
 * @param ledger outcomes of all updates up to {@code version}
 */
public record PartitionHead(
    int index,
    int first,
    long version,
    long samples,
    List<DuplicateWindow.Entry> window,
    LedgerSnapshot ledger) {

  public PartitionHead {
    window = List.copyOf(window);
  }

  /** Returns the partition with its arrays. */
  PartitionSnapshot with(float[] parameters, float[] state) {
    return new PartitionSnapshot(index, first, version, samples, parameters, state, window, ledger);
  }
}
