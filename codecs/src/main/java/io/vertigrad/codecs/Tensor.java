package io.vertigrad.codecs;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.zip.CRC32C;

/**
 * An immutable vector of numbers in its wire form: little-endian bytes of one {@link DataType}.
 *
 * <p>Rounding to a narrower type happens when the tensor is made, so local delivery, which hands
 * over the object, and remote delivery, which copies the bytes, give the same numbers bit for bit.
 * A tensor never changes after it was made and may be shared between threads.
 */
public final class Tensor {

  private static final int SHOWN_ELEMENTS = 4;

  private final DataType type;

  /** Position 0, little-endian; never written and never handed out writable. */
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
    return new Tensor(type, payload.slice().order(ByteOrder.LITTLE_ENDIAN));
  }

  /**
   * Copies what remains of {@code source} and consumes it. A narrower type rounds to the nearest,
   * ties to even; above the largest float16, to infinity.
   */
  public static Tensor copyOf(DataType type, FloatBuffer source) {
    int length = source.remaining();
    ByteBuffer payload =
        ByteBuffer.allocate(Math.multiplyExact(length, type.bytes()))
            .order(ByteOrder.LITTLE_ENDIAN);
    if (type == DataType.FLOAT32) {
      payload.asFloatBuffer().put(source);
      return new Tensor(type, payload);
    }
    Chunk chunk = Chunk.ofThread();
    for (int first = 0; first < length; first += Chunk.ELEMENTS) {
      int count = Math.min(Chunk.ELEMENTS, length - first);
      source.get(chunk.elements(), 0, count);
      chunk.write(type, payload, first, count);
    }
    return new Tensor(type, payload);
  }

  /** A float32 tensor of these values. */
  public static Tensor ofFloats(float... values) {
    return copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
  }

  /** How each element is stored. */
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
    return bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A fresh view that may be backed by an array, for bulk reading; must not be written. */
  ByteBuffer payload() {
    return bytes.duplicate();
  }

  /** Writes all elements at the destination's position and advances it. */
  public void copyTo(FloatBuffer destination) {
    int length = length();
    if (destination.remaining() < length) {
      throw new BufferOverflowException();
    }
    if (type == DataType.FLOAT32) {
      destination.put(bytes.asFloatBuffer());
      return;
    }
    Chunk chunk = Chunk.ofThread();
    for (int first = 0; first < length; first += Chunk.ELEMENTS) {
      int count = Math.min(Chunk.ELEMENTS, length - first);
      chunk.read(type, bytes, first, count);
      destination.put(chunk.elements(), 0, count);
    }
  }

  /** {@code destination[offset + i] = this[i]}. */
  public void copyTo(float[] destination, int offset) {
    Objects.checkFromIndexSize(offset, length(), destination.length);
    copyTo(FloatBuffer.wrap(destination, offset, length()));
  }

  /**
   * {@code accumulator[offset + i] += scale * this[i]}, in float32, one rounding per product and
   * one per sum; a scale of 1 adds the elements themselves.
   */
  public void addTo(float[] accumulator, int offset, float scale) {
    int length = length();
    Objects.checkFromIndexSize(offset, length, accumulator.length);
    Chunk chunk = Chunk.ofThread();
    for (int first = 0; first < length; first += Chunk.ELEMENTS) {
      int count = Math.min(Chunk.ELEMENTS, length - first);
      chunk.read(type, bytes, first, count);
      chunk.addTo(accumulator, offset + first, count, scale);
    }
  }

  /** True when no element is NaN or infinite. */
  public boolean isFinite() {
    int words = payloadBytes() / Integer.BYTES;
    Chunk chunk = Chunk.ofThread();
    for (int first = 0; first < words; first += Chunk.ELEMENTS) {
      if (!chunk.isFinite(type, bytes, first, Math.min(Chunk.ELEMENTS, words - first))) {
        return false;
      }
    }
    return payloadBytes() % Integer.BYTES == 0 || isFinite(length() - 1);
  }

  private boolean isFinite(int element) {
    Chunk chunk = Chunk.ofThread();
    chunk.read(type, bytes, element, 1);
    return Float.isFinite(chunk.elements()[0]);
  }

  /** True for a tensor of the same type with the same bits; so NaN may equal NaN, 0 is not -0. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Tensor tensor && type == tensor.type && bytes.equals(tensor.bytes);
  }

  @Override
  public int hashCode() {
    CRC32C checksum = new CRC32C();
    checksum.update(payload());
    return 31 * type.code() + (int) checksum.getValue();
  }

  /** Type, length and the first few elements. */
  @Override
  public String toString() {
    int shown = Math.min(SHOWN_ELEMENTS, length());
    Chunk chunk = Chunk.ofThread();
    chunk.read(type, bytes, 0, shown);
    StringJoiner text = new StringJoiner(", ", "%s[%d] {".formatted(type, length()), "}");
    for (int i = 0; i < shown; i++) {
      text.add(Float.toString(chunk.elements()[i]));
    }
    return (shown < length() ? text.add("...") : text).toString();
  }
}
