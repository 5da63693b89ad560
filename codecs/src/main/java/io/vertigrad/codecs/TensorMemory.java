package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.IntFunction;

/**
 * Memory that tensors on their way out are made in, again and again, outside the heap unless asked
 * for otherwise.
 *
 * <p>What was given back last is taken first, because the processor's cache still has it: fresh
 * memory costs more than what is written into it. A socket sends these tensors as they lie. One
 * that is never given back is left to the garbage collector. Any thread.
 */
public final class TensorMemory {

  /** More than may be on its way at a time; fresh memory is what costs most here. */
  private static final int MOST_FREE_BYTES = 32 << 20;

  private final IntFunction<ByteBuffer> fresh;
  private final Deque<ByteBuffer> free = new ArrayDeque<>();
  private int longest;
  private long mostFreeBytes = MOST_FREE_BYTES;

  /** Memory outside the heap. */
  public TensorMemory() {
    this(ByteBuffer::allocateDirect);
  }

  private TensorMemory(IntFunction<ByteBuffer> fresh) {
    this.fresh = fresh;
  }

  /**
   * Memory outside the heap up to a limit and on the heap beyond it, for tensors that may be left
   * to the garbage collector in great number.
   *
   * @param bytes the most that is ever allocated outside the heap
   * @return memory that has none yet
   */
  public static TensorMemory outsideHeapUpTo(long bytes) {
    AtomicLong left = new AtomicLong(bytes);
    return new TensorMemory(
        length ->
            left.addAndGet(-length) >= 0
                ? ByteBuffer.allocateDirect(length)
                : ByteBuffer.allocate(length));
  }

  /**
   * As {@link Tensor#copyOf}; the tensor may be read until it is {@linkplain #giveBack given back}.
   *
   * @param type that the elements are stored as
   * @param source from the buffer's position to its limit
   * @return a borrowed tensor
   */
  public BorrowedTensor copyOf(DataType type, FloatBuffer source) {
    ByteBuffer payload = take(type, source.remaining());
    DensePayload.copy(type, payload, source);
    return borrowed(type, payload);
  }

  /**
   * Likewise as {@link Tensor#sumOf}.
   *
   * @param type that the elements are stored as
   * @param source as many values as the other has
   * @param other the other summand
   * @return a borrowed tensor
   */
  public BorrowedTensor sumOf(DataType type, FloatBuffer source, TensorView other) {
    ByteBuffer payload = take(type, other.length());
    DensePayload.sum(type, payload, source, other);
    return borrowed(type, payload);
  }

  /**
   * A float32 tensor of what {@code elements} writes: all of them.
   *
   * @param length number of elements
   * @param elements fills the buffer
   * @return a borrowed tensor
   */
  public BorrowedTensor make(int length, Consumer<FloatBuffer> elements) {
    ByteBuffer payload = take(DataType.FLOAT32, length);
    elements.accept(payload.asFloatBuffer());
    return borrowed(DataType.FLOAT32, payload);
  }

  /**
   * The same elements in memory of this pool.
   *
   * @param tensor is copied
   * @return a borrowed tensor
   */
  public BorrowedTensor copyOf(TensorView tensor) {
    ByteBuffer payload = take(tensor.payloadBytes());
    payload.put(tensor.payload()).flip();
    return new BorrowedTensor(tensor.type(), tensor.encoding(), tensor.length(), payload);
  }

  /**
   * As {@link Tensor#copyOf}, for several readers.
   *
   * @param type that the elements are stored as
   * @param source from the buffer's position to its limit
   * @return a tensor to lend, of which the caller is the owner
   */
  public SharedTensor share(DataType type, FloatBuffer source) {
    ByteBuffer payload = take(type, source.remaining());
    DensePayload.copy(type, payload, source);
    return new SharedTensor(this, type, payload);
  }

  /**
   * Returns a tensor with these elements that may be read until it is {@linkplain #giveBack given
   * back}: this one where it lasts as long, else a copy in this memory.
   *
   * @param tensor that the caller was handed
   * @return the same elements
   */
  public TensorView keep(TensorView tensor) {
    boolean lasts = !(tensor instanceof BorrowedTensor lent) || lent.lastsUntilGivenBack();
    return lasts ? tensor : copyOf(tensor);
  }

  /**
   * Lets a borrowed tensor's memory be written again: once, and when nobody reads the tensor any
   * more. A tensor that owns its memory is left alone.
   *
   * @param tensor is not read any more
   */
  public void giveBack(TensorView tensor) {
    if (tensor instanceof BorrowedTensor lent) {
      if (lent.lastsUntilGivenBack()) {
        lent.giveBackToLender();
      } else {
        free(tensor.payload());
      }
    }
  }

  /**
   * Adds memory outside the heap, whatever the limit, and keeps as much more of what is given back:
   * for tensors that are kept for long beside those on their way. Where there is none left nothing
   * is added.
   *
   * @param bytes of one tensor
   */
  public void reserve(int bytes) {
    ByteBuffer memory;
    try {
      memory = ByteBuffer.allocateDirect(Math.max(bytes, longest()));
    } catch (OutOfMemoryError others) {
      return;
    }
    synchronized (this) {
      mostFreeBytes += memory.capacity();
      free.addLast(memory);
    }
  }

  private synchronized int longest() {
    return longest;
  }

  synchronized void free(ByteBuffer payload) {
    if ((long) free.size() * longest < mostFreeBytes) {
      free.push(payload.duplicate().clear());
    }
  }

  /** Of all of the memory, not of a slice: all of it comes back. */
  private static BorrowedTensor borrowed(DataType type, ByteBuffer payload) {
    int length = payload.remaining() / type.bytes();
    return new BorrowedTensor(type, Encoding.DENSE, length, payload);
  }

  private ByteBuffer take(DataType type, int length) {
    return take(Math.multiplyExact(length, type.bytes()));
  }

  /** All pieces are as long as the longest tensor so far, so that each soon fits any of them. */
  private synchronized ByteBuffer take(int bytes) {
    longest = Math.max(longest, bytes);
    ByteBuffer newest = free.poll();
    ByteBuffer memory =
        newest != null && newest.capacity() >= bytes ? newest : fresh.apply(longest);
    return memory.limit(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
