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
 * A pool of memory for outgoing tensors, off the heap by default.
 *
 * <p>The memory given back last is reused first, because it is still in the processor's cache:
 * allocating memory costs more than writing into it. A socket sends these tensors without a copy.
 * Memory that is never given back is left to the garbage collector. Any thread.
 */
public final class TensorMemory {

  /**
   * Limit on the free memory that is kept. It exceeds the memory of tensors in flight, because
   * allocation is the largest cost here.
   */
  private static final int MOST_FREE_BYTES = 32 << 20;

  private final IntFunction<ByteBuffer> fresh;
  private final Deque<ByteBuffer> free = new ArrayDeque<>();
  private int longest;
  private long mostFreeBytes = MOST_FREE_BYTES;

  /** Creates an empty pool of memory off the heap. */
  public TensorMemory() {
    this(ByteBuffer::allocateDirect);
  }

  private TensorMemory(IntFunction<ByteBuffer> fresh) {
    this.fresh = fresh;
  }

  /**
   * Creates a pool that allocates off the heap up to a limit and on the heap beyond it. Use it for
   * tensors that are left to the garbage collector in great number.
   *
   * @param bytes most memory that is ever allocated off the heap
   * @return an empty pool
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
   * Copies elements like {@link Tensor#copyOf}. The tensor is valid until it is {@linkplain
   * #giveBack given back}.
   *
   * @param type in which the elements are stored
   * @param source from the buffer's position to its limit
   * @return a borrowed tensor
   */
  public BorrowedTensor copyOf(DataType type, FloatBuffer source) {
    ByteBuffer payload = take(type, source.remaining());
    DensePayload.copy(type, payload, source);
    return borrowed(type, payload);
  }

  /**
   * Adds elements like {@link Tensor#sumOf}. The tensor is valid until it is {@linkplain #giveBack
   * given back}.
   *
   * @param type in which the elements are stored
   * @param source as many values as {@code other} has
   * @param other the other summand
   * @return a borrowed tensor
   */
  public BorrowedTensor sumOf(DataType type, FloatBuffer source, TensorView other) {
    ByteBuffer payload = take(type, other.length());
    DensePayload.sum(type, payload, source, other);
    return borrowed(type, payload);
  }

  /**
   * Creates a float32 tensor.
   *
   * @param length number of elements
   * @param elements writes all elements into the buffer
   * @return a borrowed tensor
   */
  public BorrowedTensor make(int length, Consumer<FloatBuffer> elements) {
    ByteBuffer payload = take(DataType.FLOAT32, length);
    elements.accept(payload.asFloatBuffer());
    return borrowed(DataType.FLOAT32, payload);
  }

  /**
   * Copies a tensor into memory of this pool.
   *
   * @param tensor is copied
   * @return a borrowed tensor
   */
  public BorrowedTensor copyOf(TensorView tensor) {
    ByteBuffer payload = take(tensor.payloadBytes());
    payload.put(tensor.payload()).flip();
    return BorrowedTensor.lent(tensor.type(), tensor.encoding(), tensor.length(), payload, null);
  }

  /**
   * Copies elements like {@link Tensor#copyOf}, for several readers.
   *
   * @param type in which the elements are stored
   * @param source from the buffer's position to its limit
   * @return a tensor to lend; the caller owns it
   */
  public SharedTensor share(DataType type, FloatBuffer source) {
    ByteBuffer payload = take(type, source.remaining());
    DensePayload.copy(type, payload, source);
    return new SharedTensor(this, type, payload);
  }

  /**
   * Returns a tensor with these elements that stays valid until it is {@linkplain #giveBack given
   * back}: the tensor itself if it does, otherwise a copy in this memory.
   *
   * @param tensor that the caller received
   * @return the same elements
   */
  public TensorView keep(TensorView tensor) {
    boolean lasts = !(tensor instanceof BorrowedTensor lent) || lent.lastsUntilGivenBack();
    return lasts ? tensor : copyOf(tensor);
  }

  /**
   * Returns a borrowed tensor's memory to the pool. Call it once, when nobody reads the tensor any
   * more. Does nothing for a tensor that owns its memory.
   *
   * @param tensor that is no longer read
   */
  public void giveBack(TensorView tensor) {
    if (tensor instanceof BorrowedTensor lent) {
      if (lent.lastsUntilGivenBack()) {
        lent.giveBackToLender();
      } else {
        lent.endLoan();
        free(tensor.payload());
      }
    }
  }

  /**
   * Leaves a tensor's memory to the garbage collector unless a reader gives it back: it is no leak.
   * Call it instead of {@link #giveBack} if somebody may still read the tensor and may never say
   * when it is read. Does nothing for a tensor that owns its memory.
   *
   * @param tensor that the caller no longer reads
   */
  public static void leave(TensorView tensor) {
    if (tensor instanceof BorrowedTensor lent) {
      lent.leaveLoan();
    }
  }

  /**
   * Allocates memory off the heap for one more tensor, whatever the limit, and raises the amount of
   * free memory that is kept accordingly. Use it for tensors that are kept for long beside those in
   * flight. Adds nothing if the JVM has no such memory left.
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

  /** Wraps the whole memory block rather than a slice, because the whole block is given back. */
  private static BorrowedTensor borrowed(DataType type, ByteBuffer payload) {
    int length = payload.remaining() / type.bytes();
    return BorrowedTensor.lent(type, Encoding.DENSE, length, payload, null);
  }

  private ByteBuffer take(DataType type, int length) {
    return take(Math.multiplyExact(length, type.bytes()));
  }

  /**
   * Takes or allocates a block. All blocks have the length of the longest tensor so far, so that
   * each soon fits any tensor.
   */
  private synchronized ByteBuffer take(int bytes) {
    longest = Math.max(longest, bytes);
    ByteBuffer newest = free.poll();
    ByteBuffer memory =
        newest != null && newest.capacity() >= bytes ? newest : fresh.apply(longest);
    return memory.limit(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
