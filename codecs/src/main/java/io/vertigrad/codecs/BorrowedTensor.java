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

  /** Null unless the tensor has to be given back and {@link TensorLeaks} are looked for. */
  private final TensorLeaks.Loan loan;

  BorrowedTensor(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    super(type, encoding, length, bytes);
    this.lender = null;
    this.loan = null;
  }

  /** Creates a tensor that its reader has to give back, to a shared tensor or to a memory. */
  static BorrowedTensor lent(
      DataType type, Encoding encoding, int length, ByteBuffer bytes, SharedTensor lender) {
    return new BorrowedTensor(type, encoding, length, bytes, lender);
  }

  private BorrowedTensor(
      DataType type, Encoding encoding, int length, ByteBuffer bytes, SharedTensor lender) {
    super(type, encoding, length, bytes);
    this.lender = lender == null ? null : new AtomicReference<>(lender);
    this.loan = TensorLeaks.lent(this);
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
      endLoan();
      owner.givenBack();
    }
  }

  /** Records that the tensor was given back. */
  void endLoan() {
    if (loan != null) {
      loan.end();
    } else {
      TensorLeaks.requireOff();
    }
  }

  /** Records that the tensor may never be given back. */
  void leaveLoan() {
    if (loan != null) {
      loan.leave();
    }
  }

  @Override
  public Tensor retain() {
    ByteBuffer copy = Tensor.allocate(payloadBytes()).put(payload()).flip();
    return new Tensor(type(), encoding(), length(), copy);
  }
}
