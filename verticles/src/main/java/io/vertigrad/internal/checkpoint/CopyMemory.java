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
 * Memory that copies for checkpoints are made in, again and again, outside the heap as far as a
 * limit goes.
 *
 * <p>Copies on the heap would be as large as the parameters and the optimizer's state together, and
 * would live for as long as the file is written: the collector would move them while everybody
 * waits, which takes several times as long as to copy them, and fresh memory takes as long again.
 * What was given back is kept for the next checkpoint. Any thread.
 */
public final class CopyMemory {

  private final Map<Integer, Deque<FloatBuffer>> free = new TreeMap<>();
  private final Map<Integer, Integer> pieces = new TreeMap<>();
  private long bytesLeft;

  /** At most half of what Java may have outside its heap, where that is as large as the heap. */
  public CopyMemory() {
    this(Runtime.getRuntime().maxMemory() / 2);
  }

  /**
   * Memory that was not allocated yet.
   *
   * @param mostBytes how much of it may lie outside the heap; the rest is on the heap
   */
  CopyMemory(long mostBytes) {
    this.bytesLeft = mostBytes;
  }

  /**
   * Takes a piece, whose elements have any values.
   *
   * @return a buffer of exactly this many elements, from 0 to its capacity; to be {@linkplain
   *     #giveBack given back} once
   */
  public synchronized FloatBuffer take(int length) {
    Deque<FloatBuffer> fitting = free.get(length);
    if (fitting != null && !fitting.isEmpty()) {
      return fitting.pop().clear();
    }
    return fresh(length);
  }

  /**
   * Sees to it that there is memory for one copy, so that the first one need not wait for it.
   *
   * @param lengths of all pieces that a copy consists of
   * @param pace how fast
   * @throws InterruptedIOException when the thread is interrupted
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

  /** Takes back what was taken, if anything; nobody reads it any more. */
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
        // Others have what may lie outside the heap: -XX:MaxDirectMemorySize is smaller, perhaps.
        bytesLeft = 0;
      }
    }
    return FloatBuffer.allocate(length);
  }
}
