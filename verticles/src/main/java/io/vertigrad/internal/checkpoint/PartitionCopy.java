package io.vertigrad.internal.checkpoint;

import java.io.IOException;
import java.nio.FloatBuffer;

/**
 * A copy of a partition at one version that whoever comes first makes: the thread that writes the
 * checkpoint, or the partition's own before it changes anything.
 */
public final class PartitionCopy {

  private final long version;
  private Source source;
  private boolean made;
  private boolean released;

  /** What is copied, and the memory that the copy takes. */
  public interface Source {

    /** Copies what may change from now on; called at most once, by any thread. */
    void copy();

    /** What is said of the partition. */
    PartitionHead head();

    /** The elements, from position to limit, once they are copied. */
    FloatBuffer parameters();

    /** The optimizer's state, likewise; without elements where there is none. */
    FloatBuffer state();

    /** Gives all memory back, whether anything was copied or not; called once, by any thread. */
    void release();
  }

  /**
   * A copy that was not made.
   *
   * @param source makes it; O(length of the partition)
   */
  public PartitionCopy(long version, Source source) {
    this.version = version;
    this.source = source;
  }

  /** Which version it is of. */
  public long version() {
    return version;
  }

  /**
   * Sees to it that the copy is made, unless nobody needs it any more; any thread. Whoever comes
   * second waits for the first.
   */
  public synchronized void make() {
    if (!made && !released) {
      source.copy();
      made = true;
    }
  }

  /** As {@link #make}; returns the bytes of its arrays. */
  synchronized long makeAndMeasure() {
    make();
    return released
        ? 0
        : (long) Float.BYTES * (source.parameters().remaining() + source.state().remaining());
  }

  /** Gives its memory back; it is not written any more, or was not to be. */
  synchronized void release() {
    if (!released) {
      released = true;
      source.release();
      source = null;
    }
  }

  /** Appends the arrays to a file, while the partition may go on changing. */
  Manifest.Entry write(BlockChannel blocks) throws IOException {
    Source copy = copied();
    Block parameters = blocks.write(copy.parameters());
    return Manifest.Entry.of(copy.head(), parameters, blocks.write(copy.state()));
  }

  private synchronized Source copied() {
    make();
    if (released) {
      throw new IllegalStateException("a checkpoint's copy was released before it was written");
    }
    return source;
  }
}
