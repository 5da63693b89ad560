package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * A vector of numbers in memory that is written again: a receiver's until the callback that was
 * handed it returns, a sender's until it is {@linkplain TensorMemory#giveBack given back}.
 */
public final class BorrowedTensor extends TensorView {

  BorrowedTensor(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    super(type, encoding, length, bytes);
  }

  @Override
  public Tensor retain() {
    ByteBuffer copy = Tensor.allocate(payloadBytes()).put(payload()).flip();
    return new Tensor(type(), encoding(), length(), copy);
  }
}
