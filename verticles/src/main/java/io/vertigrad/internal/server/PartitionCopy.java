package io.vertigrad.internal.server;

import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import java.util.function.Supplier;

/**
 * A copy of a partition at one version that whoever comes first makes: the thread that writes the
 * checkpoint, or the partition's own before it changes anything.
 */
final class PartitionCopy {

  private final long version;
  private Supplier<PartitionSnapshot> source;
  private PartitionSnapshot made;

  /**
   * A copy that was not made.
   *
   * @param source makes it; O(length of the partition)
   */
  PartitionCopy(long version, Supplier<PartitionSnapshot> source) {
    this.version = version;
    this.source = source;
  }

  long version() {
    return version;
  }

  /** The copy; any thread. Whoever comes second waits for the first. */
  synchronized PartitionSnapshot take() {
    if (made == null) {
      made = source.get();
      source = null;
    }
    return made;
  }
}
