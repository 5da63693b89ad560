package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Objects;

/**
 * An immutable vector of numbers that owns its memory. It never changes after it was created and
 * may be kept and shared between threads.
 */
public final class Tensor extends TensorView {

  Tensor(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    super(type, encoding, length, bytes);
  }

  /**
   * Wraps a little-endian payload without copying it. The caller must not write the payload
   * afterwards.
   *
   * @param type of the elements
   * @param payload from the buffer's position to its limit
   * @return a tensor on that memory
   */
  public static Tensor wrap(DataType type, ByteBuffer payload) {
    if (payload.remaining() % type.bytes() != 0) {
      throw new IllegalArgumentException(
          "payload of %s bytes: expected a multiple of %s for %s"
              .formatted(payload.remaining(), type.bytes(), type));
    }
    int length = payload.remaining() / type.bytes();
    return new Tensor(type, Encoding.DENSE, length, payload.slice().order(ByteOrder.LITTLE_ENDIAN));
  }

  /**
   * Copies the remaining elements of {@code source} and consumes them. A narrower type rounds to
   * nearest, ties to even; values above the largest float16 become infinity.
   *
   * @param type in which the elements are stored
   * @param source from the buffer's position to its limit
   * @return a tensor with the same number of elements
   */
  public static Tensor copyOf(DataType type, FloatBuffer source) {
    ByteBuffer payload = allocate(Math.multiplyExact(source.remaining(), type.bytes()));
    DensePayload.copy(type, payload, source);
    return wrap(type, payload);
  }

  /**
   * Adds {@code source} and {@code other} in float32 and rounds like {@link #copyOf}. Consumes the
   * source.
   *
   * @param type in which the elements are stored
   * @param source as many values as {@code other} has
   * @param other the other summand
   * @return a tensor with the same number of elements
   */
  public static Tensor sumOf(DataType type, FloatBuffer source, TensorView other) {
    ByteBuffer payload = allocate(Math.multiplyExact(other.length(), type.bytes()));
    DensePayload.sum(type, payload, source, other);
    return wrap(type, payload);
  }

  /**
   * Rounds the remaining elements of {@code source} to one byte each and consumes them. 1,024
   * elements share a scale; each is rounded to the nearest of 255 multiples of it, ties to even.
   *
   * @param source from the buffer's position to its limit
   * @return a tensor with the same number of elements
   */
  public static Tensor int8(FloatBuffer source) {
    int length = source.remaining();
    ByteBuffer payload = allocate(Math.toIntExact(Int8Blocks.payloadBytes(length)));
    Int8Blocks.write(source, payload);
    return new Tensor(DataType.FLOAT32, Encoding.INT8, length, payload);
  }

  /**
   * Rounds the remaining elements of {@code source} to four bits each and consumes them. 128
   * elements share a scale; each is rounded to the nearest of 15 multiples of it, ties to even.
   *
   * @param source from the buffer's position to its limit
   * @return a tensor with the same number of elements
   */
  public static Tensor int4(FloatBuffer source) {
    int length = source.remaining();
    ByteBuffer payload = allocate(Math.toIntExact(Int4Blocks.payloadBytes(length)));
    Int4Blocks.write(source, payload);
    return new Tensor(DataType.FLOAT32, Encoding.INT4, length, payload);
  }

  /**
   * Keeps the signs of the remaining elements of {@code source} and consumes them. 1,024 elements
   * share a magnitude, the mean of theirs; 0 counts as positive.
   *
   * @param source from the buffer's position to its limit
   * @return a tensor with the same number of elements
   */
  public static Tensor signs(FloatBuffer source) {
    int length = source.remaining();
    ByteBuffer payload = allocate(Math.toIntExact(SignBlocks.payloadBytes(length)));
    SignBlocks.write(source, payload);
    return new Tensor(DataType.FLOAT32, Encoding.SIGN, length, payload);
  }

  /**
   * Keeps the {@code kept} elements of largest magnitude of {@code source} and sets the others to
   * 0. Of equal magnitudes the first are kept. Consumes the source.
   *
   * @param source from the buffer's position to its limit
   * @param kept largest number of elements that are not 0
   * @return a tensor with the same number of elements
   */
  public static Tensor top(FloatBuffer source, int kept) {
    int length = source.remaining();
    Objects.checkIndex(kept, length + 1);
    ByteBuffer payload = allocate(Math.multiplyExact(kept, TopElements.ENTRY_BYTES));
    TopElements.write(source, kept, payload);
    return new Tensor(DataType.FLOAT32, Encoding.TOP_K, length, payload);
  }

  /**
   * Holds some runs of elements as the product of two factors.
   *
   * @param length number of elements
   * @param rank number of columns of the factors P and Q, from 1 to 256
   * @param matrices the runs whose elements are those of {@code P Q^T}, in order
   * @param body in the order of the elements: for each matrix P row by row, then Q column by
   *     column, for all other elements their values; consumed
   * @return a tensor with {@code length} elements
   */
  public static Tensor lowRank(int length, int rank, List<MatrixRange> matrices, FloatBuffer body) {
    int bodyAt = LowRankFactors.bodyAt(matrices.size());
    ByteBuffer payload = allocate(bodyAt + body.remaining() * Float.BYTES);
    LowRankFactors.write(rank, matrices, body, payload);
    Malformed fault = new TensorCheck(DataType.FLOAT32, Encoding.LOW_RANK, length, payload).fault();
    if (fault != null) {
      throw new IllegalArgumentException(fault.toString());
    }
    return new Tensor(DataType.FLOAT32, Encoding.LOW_RANK, length, payload);
  }

  /**
   * Returns a float32 tensor with these values.
   *
   * @param values are copied
   * @return the tensor
   */
  public static Tensor ofFloats(float... values) {
    return copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
  }

  @Override
  public Tensor retain() {
    return this;
  }

  static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
