package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Elements that several readers borrow at the same time, in memory of a {@link TensorMemory}. The
 * memory is reused once the owner and every reader are done with it.
 *
 * <p>If a reader never gives its tensor back, the memory is left to the garbage collector.
 */
public final class SharedTensor {

  private final TensorMemory memory;
  private final DataType type;
  private final ByteBuffer payload;
  private final AtomicInteger holders = new AtomicInteger(1);

  SharedTensor(TensorMemory memory, DataType type, ByteBuffer payload) {
    this.memory = memory;
    this.type = type;
    this.payload = payload;
  }

  /**
   * Lends the elements to one more reader. Only the owner may call it, before {@link #release}.
   *
   * @return a tensor that its reader must {@linkplain TensorMemory#giveBack give back}, to any
   *     memory
   */
  public BorrowedTensor lend() {
    holders.incrementAndGet();
    return BorrowedTensor.lent(
        type, Encoding.DENSE, payload.remaining() / type.bytes(), payload, this);
  }

  /**
   * Copies the elements. Only the owner may call it, before {@link #release}.
   *
   * @return a tensor that stays valid
   */
  public Tensor copy() {
    BorrowedTensor lent = lend();
    try {
      return lent.retain();
    } finally {
      giveBack(lent);
    }
  }

  /** Ends lending; the owner calls it once. */
  public void release() {
    givenBack();
  }

  /**
   * Gives a tensor back if it was lent by {@link #lend}; does nothing for any other tensor.
   *
   * @param tensor that is no longer read
   */
  public static void giveBack(TensorView tensor) {
    if (tensor instanceof BorrowedTensor lent && lent.lastsUntilGivenBack()) {
      lent.giveBackToLender();
    }
  }

  void givenBack() {
    if (holders.decrementAndGet() == 0) {
      memory.free(payload);
    }
  }
}
