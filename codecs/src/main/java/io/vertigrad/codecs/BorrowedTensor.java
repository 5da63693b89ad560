package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A vector of numbers in memory that is written again: a receiver's until the callback that was
 * handed it returns, a sender's and a {@linkplain SharedTensor shared} one's until it is
 * {@linkplain TensorMemory#giveBack given back}.
 */
public final class BorrowedTensor extends TensorView {

  /** Of whom it was borrowed, where somebody waits for it to be given back. */
  private final AtomicReference<SharedTensor> lender;

  BorrowedTensor(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    this(type, encoding, length, bytes, null);
  }

  BorrowedTensor(
      DataType type, Encoding encoding, int length, ByteBuffer bytes, SharedTensor lender) {
    super(type, encoding, length, bytes);
    this.lender = lender == null ? null : new AtomicReference<>(lender);
  }

  /**
   * Tells whether it may be read until its reader gives it back, on whatever thread.
   *
   * @return false where its memory may be written again as soon as the callback returns
   */
  public boolean lastsUntilGivenBack() {
    return lender != null;
  }

  /** Gives it back to its lender, once however often this is called. */
  void giveBackToLender() {
    SharedTensor of = lender.getAndSet(null);
    if (of != null) {
      of.givenBack();
    }
  }

  @Override
  public Tensor retain() {
    ByteBuffer copy = Tensor.allocate(payloadBytes()).put(payload()).flip();
    return new Tensor(type(), encoding(), length(), copy);
  }
}
