package io.vertigrad.internal.checkpoint;

import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Reusable memory for checkpoint copies, outside the heap up to a limit.
 *
 * <p>A copy is as large as the parameters and the optimizer's state together, and lives until the
 * file is written. On the heap, the garbage collector would move it in a pause, which takes several
 * times as long as the copy itself. Fresh memory takes that long again. Memory that was given back
 * is kept for the next checkpoint. May be called by any thread.
 */
public final class CopyMemory {

  private final Map<Integer, Deque<FloatBuffer>> free = new TreeMap<>();
  private final Map<Integer, Integer> pieces = new TreeMap<>();
  private long bytesLeft;

  /**
   * Uses at most half of Java's limit outside the heap, which by default is as large as the heap.
   */
  public CopyMemory() {
    this(Runtime.getRuntime().maxMemory() / 2);
  }

  /**
   * Creates memory that is not allocated yet.
   *
   * @param mostBytes largest size outside the heap; the rest is allocated on the heap
   */
  CopyMemory(long mostBytes) {
    this.bytesLeft = mostBytes;
  }

  /**
   * Takes a piece. Its elements have undefined values.
   *
   * @return a buffer with exactly this many elements, from 0 to its capacity; {@linkplain #giveBack
   *     give it back} once
   */
  public synchronized FloatBuffer take(int length) {
    Deque<FloatBuffer> fitting = free.get(length);
    if (fitting != null && !fitting.isEmpty()) {
      return fitting.pop().clear();
    }
    return fresh(length);
  }

  /**
   * Allocates the memory for one copy in advance, so that the first copy does not wait for it.
   *
   * @param lengths lengths of all pieces of a copy
   * @param pace how fast to allocate
   * @throws InterruptedIOException if the thread is interrupted
   */
  public void reserve(List<Integer> lengths, WritePace pace) throws InterruptedIOException {
    Map<Integer, Integer> wanted = new TreeMap<>();
    pace.begin();
    for (int length : lengths) {
      pace.writing(length * Float.BYTES);
      reserve(length, wanted.merge(length, 1, Integer::sum));
    }
  }

  private synchronized void reserve(int length, int wanted) {
    if (pieces.getOrDefault(length, 0) < wanted) {
      giveBack(fresh(length));
    }
  }

  /** Takes back a piece that nobody reads any more. Ignores null. */
  public synchronized void giveBack(FloatBuffer piece) {
    if (piece == null) {
      return;
    }
    free.computeIfAbsent(piece.capacity(), first -> new ArrayDeque<>()).push(piece);
  }

  private FloatBuffer fresh(int length) {
    pieces.merge(length, 1, Integer::sum);
    long bytes = (long) length * Float.BYTES;
    if (bytes <= Integer.MAX_VALUE && bytes <= bytesLeft) {
      try {
        FloatBuffer outside =
            ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder()).asFloatBuffer();
        bytesLeft -= bytes;
        return outside;
      } catch (OutOfMemoryError others) {
        // The memory outside the heap is used up, perhaps because -XX:MaxDirectMemorySize is
        // smaller.
        bytesLeft = 0;
      }
    }
    return FloatBuffer.allocate(length);
  }
}
