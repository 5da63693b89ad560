package io.vertigrad.internal.checkpoint;

import io.vertigrad.internal.checkpoint.BlockChannel.Block;
import io.vertigrad.internal.checkpoint.CheckpointFile.Manifest;
import java.io.IOException;
import java.nio.FloatBuffer;

/**
 * A copy of a partition at one version. It is made by the first thread that needs it: the thread
 * that writes the checkpoint, or the partition's own thread before it changes anything.
 */
public final class PartitionCopy {

  private final long version;
  private Source source;
  private boolean made;
  private boolean released;

  /** The source of a copy, with the memory of the copy. */
  public interface Source {

    /** Copies everything that may change from now on. Called at most once, by any thread. */
    void copy();

    /** Returns the partition's metadata. */
    PartitionHead head();

    /** Returns the copied elements, from position to limit. */
    FloatBuffer parameters();

    /** Returns the copied optimizer state, from position to limit; empty if there is none. */
    FloatBuffer state();

    /** Gives all memory back, even if nothing was copied. Called once, by any thread. */
    void release();
  }

  /**
   * Creates a copy that is not made yet.
   *
   * @param source makes the copy, in time proportional to the length of the partition
   */
  public PartitionCopy(long version, Source source) {
    this.version = version;
    this.source = source;
  }

  /** Returns the version of the copy. */
  public long version() {
    return version;
  }

  /**
   * Makes the copy if it is not made and not released. May be called by any thread; a second caller
   * waits for the first.
   */
  public synchronized void make() {
    if (!made && !released) {
      source.copy();
      made = true;
    }
  }

  /** Makes the copy as {@link #make} does. Returns the bytes of its arrays. */
  synchronized long makeAndMeasure() {
    make();
    return released
        ? 0
        : (long) Float.BYTES * (source.parameters().remaining() + source.state().remaining());
  }

  /** Releases the copy's memory, after it was written or because it is not needed. */
  synchronized void release() {
    if (!released) {
      released = true;
      source.release();
      source = null;
    }
  }

  /** Appends the arrays to a file. The partition may change meanwhile. */
  Manifest.Entry write(BlockChannel blocks) throws IOException {
    Source copy = copied();
    Block parameters = blocks.write(copy.parameters());
    return new Manifest.Entry(copy.head(), parameters, blocks.write(copy.state()));
  }

  private synchronized Source copied() {
    make();
    if (released) {
      throw new IllegalStateException("a checkpoint's copy was released before it was written");
    }
    return source;
  }
}
