package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/**
 * An immutable vector of numbers in its wire form: little-endian bytes of one {@link DataType}.
 *
 * <p>Rounding to a narrower type happens when the tensor is made, so local delivery, which hands
 * over the object, and remote delivery, which copies the bytes, give the same numbers bit for bit.
 * A tensor never changes after it was made and may be shared between threads.
 */
public final class Tensor {

  private final DataType type;
  private final ByteBuffer bytes;

  private Tensor(DataType type, ByteBuffer bytes) {
    this.type = type;
    this.bytes = bytes;
  }

  /** Takes over a little-endian payload without copying; the caller must never write it again. */
  public static Tensor wrap(DataType type, ByteBuffer payload) {
    if (payload.remaining() % type.bytes() != 0) {
      throw new IllegalArgumentException(
          "payload of %d bytes: expected a multiple of %d for %s"
              .formatted(payload.remaining(), type.bytes(), type));
    }
    return new Tensor(type, payload.slice().asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN));
  }

  /** Copies what remains of {@code source}, rounding to {@code type}; consumes it. */
  public static Tensor copyOf(DataType type, FloatBuffer source) {
    throw new UnsupportedOperationException("written by the codecs room");
  }

  /** A float32 tensor of these values. */
  public static Tensor ofFloats(float... values) {
    return copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
  }

  public DataType type() {
    return type;
  }

  /** Number of elements. */
  public int length() {
    return bytes.remaining() / type.bytes();
  }

  /** Size of the payload on the wire. */
  public int payloadBytes() {
    return bytes.remaining();
  }

  /** A fresh read-only little-endian view of the payload, position 0. */
  public ByteBuffer bytes() {
    return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Writes all elements at the destination's position and advances it. */
  public void copyTo(FloatBuffer destination) {
    throw new UnsupportedOperationException("written by the codecs room");
  }

  /** {@code destination[offset + i] = this[i]}. */
  public void copyTo(float[] destination, int offset) {
    throw new UnsupportedOperationException("written by the codecs room");
  }

  /** {@code accumulator[offset + i] += scale * this[i]}, in float32, one rounding per product. */
  public void addTo(float[] accumulator, int offset, float scale) {
    throw new UnsupportedOperationException("written by the codecs room");
  }

  /** True when no element is NaN or infinite. */
  public boolean isFinite() {
    throw new UnsupportedOperationException("written by the codecs room");
  }
}
