package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.MemberState.Part;
import io.vertigrad.internal.exchange.DuplicateWindow;
import java.util.Arrays;
import java.util.LinkedHashMap;
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

  /**
   * Divides what files of format 1 hold in one piece among the parts of a state, which have the
   * same order. The last part gets the rest, if there is more.
   */
  public PartitionSnapshot divided(List<Part> into) {
    float[] all = part(MemberState.UNDIVIDED);
    if (!parts.containsKey(MemberState.UNDIVIDED)) {
      return this;
    }
    Map<String, float[]> found = new LinkedHashMap<>(parts);
    found.remove(MemberState.UNDIVIDED);
    List<Part> missing = into.stream().filter(part -> !parts.containsKey(part.name())).toList();
    int at = 0;
    for (int i = 0; i < missing.size(); i++) {
      boolean last = i == missing.size() - 1;
      int end = last ? all.length : Math.min(all.length, at + missing.get(i).length());
      found.put(missing.get(i).name(), Arrays.copyOfRange(all, at, end));
      at = end;
    }
    return new PartitionSnapshot(head, found);
  }
}
