package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Elements that several readers are lent at a time, in memory of a {@link TensorMemory} that is
 * written again once its owner and every reader are done with it.
 *
 * <p>A reader who never gives back what he was lent leaves the memory to the garbage collector.
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
   * Lends the elements to one more reader; belongs to the owner, until it {@linkplain #release
   * releases} them.
   *
   * @return to be {@linkplain TensorMemory#giveBack given back} by its reader, to any memory
   */
  public BorrowedTensor lend() {
    holders.incrementAndGet();
    return new BorrowedTensor(
        type, Encoding.DENSE, payload.remaining() / type.bytes(), payload, this);
  }

  /** Lends no more: to be called once, by the owner. */
  public void release() {
    givenBack();
  }

  /**
   * Gives a tensor back if it was lent by an owner such as this, and leaves any other alone.
   *
   * @param tensor is not read any more
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
