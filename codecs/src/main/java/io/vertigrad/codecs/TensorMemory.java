package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/**
 * Memory outside the heap that tensors on their way out are made in, again and again.
 *
 * <p>What was given back last is taken first, because the processor's cache still has it: fresh
 * memory costs more than what is written into it. A socket sends these tensors as they lie. One
 * that is never given back is left to the garbage collector. Any thread.
 */
public final class TensorMemory {

  private static final int MOST_FREE = 16;

  private final Deque<ByteBuffer> free = new ArrayDeque<>();
  private int longest;

  /**
   * As {@link Tensor#copyOf}; the tensor is lent until it is {@linkplain #giveBack given back}, see
   * {@link Tensor#kept}.
   */
  public Tensor copyOf(DataType type, FloatBuffer source) {
    int bytes = Math.multiplyExact(source.remaining(), type.bytes());
    return new Tensor(type, Encoding.DENSE, source.remaining(), true, take(bytes).limit(bytes))
        .fill(source);
  }

  /** A lent float32 tensor of what {@code elements} writes: all of them. */
  public Tensor make(int length, Consumer<FloatBuffer> elements) {
    int bytes = Math.multiplyExact(length, DataType.FLOAT32.bytes());
    ByteBuffer payload = take(bytes).limit(bytes);
    elements.accept(payload.asFloatBuffer());
    return new Tensor(DataType.FLOAT32, Encoding.DENSE, length, true, payload);
  }

  /** A tensor like this one that is lent from here. */
  public Tensor copyOf(Tensor tensor) {
    ByteBuffer payload = take(tensor.payloadBytes()).limit(tensor.payloadBytes());
    payload.put(tensor.payload()).flip();
    return new Tensor(tensor.type(), tensor.encoding(), tensor.length(), true, payload);
  }

  /**
   * Lets a lent tensor's memory be written again: once, and nobody reads the tensor any more. Any
   * other is left alone.
   */
  public synchronized void giveBack(Tensor tensor) {
    if (tensor.isLent() && free.size() < MOST_FREE) {
      free.push(tensor.payload().clear());
    }
  }

  /** All pieces are as long as the longest tensor so far, so that each soon fits any of them. */
  private synchronized ByteBuffer take(int bytes) {
    longest = Math.max(longest, bytes);
    ByteBuffer newest = free.poll();
    ByteBuffer memory =
        newest != null && newest.capacity() >= bytes ? newest : ByteBuffer.allocateDirect(longest);
    return memory.order(ByteOrder.LITTLE_ENDIAN);
  }
}
