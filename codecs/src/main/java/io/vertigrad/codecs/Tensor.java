package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;

/**
 * An immutable vector of numbers that owns its memory: it never changes after it was made and may
 * be kept and shared between threads.
 */
public final class Tensor extends TensorView {

  Tensor(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    super(type, encoding, length, bytes);
  }

  /**
   * Takes over a little-endian payload without copying; the caller must never write it again.
   *
   * @param type of the elements
   * @param payload from the buffer's position to its limit
   * @return a tensor around that memory
   */
  public static Tensor wrap(DataType type, ByteBuffer payload) {
    if (payload.remaining() % type.bytes() != 0) {
      throw new IllegalArgumentException(
          "payload of %d bytes: expected a multiple of %d for %s"
              .formatted(payload.remaining(), type.bytes(), type));
    }
    int length = payload.remaining() / type.bytes();
    return new Tensor(type, Encoding.DENSE, length, payload.slice().order(ByteOrder.LITTLE_ENDIAN));
  }

  /**
   * Copies what remains of {@code source} and consumes it. A narrower type rounds to the nearest,
   * ties to even; above the largest float16, to infinity.
   *
   * @param type that the elements are stored as
   * @param source from the buffer's position to its limit
   * @return a tensor of as many elements
   */
  public static Tensor copyOf(DataType type, FloatBuffer source) {
    ByteBuffer payload = allocate(Math.multiplyExact(source.remaining(), type.bytes()));
    DensePayload.copy(type, payload, source);
    return wrap(type, payload);
  }

  /**
   * {@code source + other} in float32, rounded as by {@link #copyOf}; consumes the source.
   *
   * @param type that the elements are stored as
   * @param source as many values as the other has
   * @param other the other summand
   * @return a tensor of as many elements
   */
  public static Tensor sumOf(DataType type, FloatBuffer source, TensorView other) {
    ByteBuffer payload = allocate(Math.multiplyExact(other.length(), type.bytes()));
    DensePayload.sum(type, payload, source, other);
    return wrap(type, payload);
  }

  /**
   * Rounds what remains of {@code source} to one byte each and consumes it: to the nearest of 255
   * multiples of a scale that 1,024 elements share, ties to even.
   *
   * @param source from the buffer's position to its limit
   * @return a tensor of as many elements
   */
  public static Tensor int8(FloatBuffer source) {
    int length = source.remaining();
    ByteBuffer payload = allocate(Math.toIntExact(Int8Blocks.payloadBytes(length)));
    Int8Blocks.write(source, payload);
    return new Tensor(DataType.FLOAT32, Encoding.INT8, length, payload);
  }

  /**
   * Takes the {@code kept} elements of largest magnitude of what remains of {@code source}, of
   * equal ones the first, and 0 for the others; consumes it.
   *
   * @param source from the buffer's position to its limit
   * @param kept how many elements are not 0, at most
   * @return a tensor of as many elements
   */
  public static Tensor top(FloatBuffer source, int kept) {
    int length = source.remaining();
    Objects.checkIndex(kept, length + 1);
    ByteBuffer payload = allocate(Math.multiplyExact(kept, TopElements.ENTRY_BYTES));
    TopElements.write(source, kept, payload);
    return new Tensor(DataType.FLOAT32, Encoding.TOP_K, length, payload);
  }

  /**
   * A float32 tensor of these values.
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
