package io.vertigrad.internal.checkpoint;

import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.internal.checkpoint.BlockChannel.Block;
import io.vertigrad.internal.checkpoint.CheckpointFile.Manifest;
import io.vertigrad.internal.checkpoint.MemberState.Lent;
import io.vertigrad.internal.checkpoint.MemberState.Part;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A copy of a {@link MemberState} at one version. It is made by the first thread that needs it: the
 * thread that writes the checkpoint, or the owner's thread before it changes anything.
 */
public final class PartitionCopy {

  private final PartitionHead head;
  private final List<Part> parts;
  private final CopyMemory memory;
  private final Map<String, Lent> lent = new LinkedHashMap<>();
  private final Map<String, FloatBuffer> copied = new LinkedHashMap<>();
  private boolean made;
  private Throwable failure;
  private boolean released;

  /** Creates a copy that is not made yet, on the owner's thread. */
  PartitionCopy(PartitionHead head, List<Part> parts, CopyMemory memory) {
    this.head = head;
    this.parts = parts;
    this.memory = memory;
    for (Part part : parts) {
      Optional<Lent> now = part.lend();
      now.ifPresent(elements -> lent.put(part.name(), elements));
    }
  }

  /** Returns the version of the copy. */
  public long version() {
    return head.version();
  }

  /**
   * Makes the copy if it is not made and not released. May be called by any thread; a second caller
   * waits for the first. If it cannot be made, the owner goes on, and writing the copy fails.
   */
  public synchronized void make() {
    if (made || failure != null || released) {
      return;
    }
    try {
      copy();
      made = true;
    } catch (RuntimeException | Error e) {
      failure = e;
    }
  }

  private void copy() {
    for (Part part : parts) {
      if (!lent.containsKey(part.name()) && part.length() > 0) {
        FloatBuffer own = memory.take(part.length());
        copied.put(part.name(), own);
        part.give(own);
        own.flip();
      }
    }
  }

  /** Makes the copy as {@link #make} does. Returns the bytes of its parts. */
  synchronized long makeAndMeasure() {
    make();
    if (released) {
      return 0;
    }
    requireMade();
    return (long) Float.BYTES * parts.stream().mapToLong(part -> elements(part).remaining()).sum();
  }

  /** Releases the copy's memory, after it was written or because it is not needed. */
  synchronized void release() {
    if (!released) {
      released = true;
      lent.values().forEach(elements -> elements.release().run());
      copied.values().forEach(memory::giveBack);
      copied.clear();
    }
  }

  /** Appends the parts to a file. The owner may go on meanwhile. */
  Manifest.Entry write(BlockChannel blocks) throws IOException {
    requireMade();
    Map<String, Block> written = new LinkedHashMap<>();
    for (Part part : parts) {
      written.put(part.name(), blocks.write(elements(part)));
    }
    return new Manifest.Entry(head, written);
  }

  /** Copies the parts into arrays, and releases this copy. */
  PartitionSnapshot snapshot() {
    PartitionSnapshot arrays = arrays();
    release();
    return arrays;
  }

  /** Copies the parts into arrays. */
  public PartitionSnapshot arrays() {
    requireMade();
    Map<String, float[]> arrays = new LinkedHashMap<>();
    for (Part part : parts) {
      FloatBuffer elements = elements(part).duplicate();
      float[] array = new float[elements.remaining()];
      elements.get(array);
      arrays.put(part.name(), array);
    }
    return head.with(arrays);
  }

  private synchronized FloatBuffer elements(Part part) {
    Lent unchanged = lent.get(part.name());
    return unchanged != null
        ? unchanged.elements()
        : copied.getOrDefault(part.name(), FloatBuffer.allocate(0));
  }

  private synchronized void requireMade() {
    make();
    if (failure != null) {
      throw new IllegalStateException(
          "partition %s could not be copied for a checkpoint: %s"
              .formatted(head.index(), FailureReason.of(failure)),
          failure);
    }
    if (released) {
      throw new IllegalStateException("a checkpoint's copy was released before it was written");
    }
  }
}
