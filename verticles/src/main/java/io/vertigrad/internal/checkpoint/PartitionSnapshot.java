package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.List;
import java.util.Map;

/**
 * A {@link MemberState} at one version, as a checkpoint holds it. Its arrays belong to it and never
 * change.
 *
 * @param head its numbers
 * @param parts its parts by name
 */
public record PartitionSnapshot(PartitionHead head, Map<String, float[]> parts) {

  private static final float[] NONE = new float[0];

  /** Returns the index of the partition. */
  public int index() {
    return head.index();
  }

  /** Returns the number of updates applied. */
  public long version() {
    return head.version();
  }

  /** Returns the last update of each worker that was applied or refused for good. */
  public List<DuplicateWindow.Entry> window() {
    return head.window();
  }

  /** Returns the outcomes of all updates. */
  public LedgerSnapshot ledger() {
    return head.ledger();
  }

  /** Returns a part; empty if there is none of this name. */
  public float[] part(String name) {
    return parts.getOrDefault(name, NONE);
  }
}
