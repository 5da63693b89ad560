package io.vertigrad.internal.checkpoint;

import java.util.function.Supplier;

/**
 * A copy of a partition at one version that whoever comes first makes: the thread that writes the
 * checkpoint, or the partition's own before it changes anything.
 */
public final class PartitionCopy {

  private final long version;
  private Supplier<PartitionSnapshot> source;
  private PartitionSnapshot made;

  /**
   * A copy that was not made.
   *
   * @param source makes it; O(length of the partition)
   */
  public PartitionCopy(long version, Supplier<PartitionSnapshot> source) {
    this.version = version;
    this.source = source;
  }

  /** Which version it is of. */
  public long version() {
    return version;
  }

  /** The copy; any thread. Whoever comes second waits for the first. */
  public synchronized PartitionSnapshot take() {
    if (made == null) {
      made = source.get();
      source = null;
    }
    return made;
  }
}
