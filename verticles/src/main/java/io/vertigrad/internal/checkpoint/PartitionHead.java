package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;
import java.util.Map;

/**
 * The numbers of a {@link MemberState}.
 *
 * @param index index of the partition; 0 for the state of a worker
 * @param first index of its first element in the exchange vector
 * @param version updates applied; of a worker with servers, the step that starts with this state
 * @param samples training samples applied
 * @param window the last update of each worker that was applied or refused for good
 * @param ledger outcomes of all updates up to {@code version}
 */
public record PartitionHead(
    int index,
    int first,
    long version,
    double samples,
    List<DuplicateWindow.Entry> window,
    LedgerSnapshot ledger) {

  public PartitionHead {
    window = List.copyOf(window);
  }

  /** Creates the head of a worker's state. */
  public PartitionHead(long version, double samples) {
    this(0, 0, version, samples, List.of(), LedgerSnapshot.EMPTY);
  }

  /** Returns the state with its parts. */
  PartitionSnapshot with(Map<String, float[]> parts) {
    return new PartitionSnapshot(this, parts);
  }
}
