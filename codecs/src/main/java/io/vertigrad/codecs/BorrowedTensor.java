package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A vector of numbers in memory that will be overwritten. A received tensor is valid until the
 * callback that receives it returns. An outgoing or {@linkplain SharedTensor shared} tensor is
 * valid until it is {@linkplain TensorMemory#giveBack given back}.
 */
public final class BorrowedTensor extends TensorView {

  /** The shared tensor to return this loan to, once; null where nothing has to be returned. */
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
   * Returns whether the tensor stays valid until its reader gives it back, on any thread.
   *
   * @return false where its memory may be overwritten as soon as the callback returns
   */
  public boolean lastsUntilGivenBack() {
    return lender != null;
  }

  /** Returns the loan to the shared tensor. Further calls have no effect. */
  void giveBackToLender() {
    SharedTensor owner = lender.getAndSet(null);
    if (owner != null) {
      owner.givenBack();
    }
  }

  @Override
  public Tensor retain() {
    ByteBuffer copy = Tensor.allocate(payloadBytes()).put(payload()).flip();
    return new Tensor(type(), encoding(), length(), copy);
  }
}
