package io.vertigrad.codecs;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.zip.CRC32C;

/**
 * An immutable vector of numbers in its wire form: little-endian bytes of one {@link DataType} and
 * {@link Encoding}.
 *
 * <p>Rounding to a narrower type happens when the tensor is made, so local delivery, which hands
 * over the object, and remote delivery, which copies the bytes, give the same numbers bit for bit.
 * A tensor never changes after it was made and may be shared between threads.
 */
public final class Tensor {

  private static final int SHOWN_ELEMENTS = 4;

  private final DataType type;
  private final Encoding encoding;
  private final int length;
  private final boolean lent;

  /** Position 0, little-endian; never written and never handed out writable. */
  private final ByteBuffer bytes;

  Tensor(DataType type, Encoding encoding, int length, boolean lent, ByteBuffer bytes) {
    this.lent = lent;
    this.type = type;
    this.encoding = encoding;
    this.length = length;
    this.bytes = bytes;
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
    return wrap(type, Encoding.DENSE, payload.remaining() / type.bytes(), false, payload);
  }

  /** Likewise for any encoding; the payload was checked, and {@code lent} is written again. */
  static Tensor wrap(
      DataType type, Encoding encoding, int length, boolean lent, ByteBuffer payload) {
    return new Tensor(type, encoding, length, lent, payload.slice().order(ByteOrder.LITTLE_ENDIAN));
  }

  /**
   * True when its memory is written again once its borrower is done with it.
   *
   * @return true until it is given back
   */
  public boolean isLent() {
    return lent;
  }

  /**
   * This tensor, or a copy of it where its memory is only lent.
   *
   * @return a tensor whose memory nobody writes
   */
  public Tensor kept() {
    return lent
        ? wrap(type, encoding, length, false, allocate(payloadBytes()).put(payload()).flip())
        : this;
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
  public static Tensor sumOf(DataType type, FloatBuffer source, Tensor other) {
    ByteBuffer payload = allocate(Math.multiplyExact(other.length, type.bytes()));
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
    return new Tensor(DataType.FLOAT32, Encoding.INT8, length, false, payload);
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
    return new Tensor(DataType.FLOAT32, Encoding.TOP_K, length, false, payload);
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

  /**
   * How each element is stored.
   *
   * @return the type
   */
  public DataType type() {
    return type;
  }

  /**
   * How elements are laid out.
   *
   * @return the encoding
   */
  public Encoding encoding() {
    return encoding;
  }

  /**
   * True when the payload is nothing but every element as float32.
   *
   * @return true for a plain float32 tensor
   */
  public boolean isPlain() {
    return type == DataType.FLOAT32 && encoding == Encoding.DENSE;
  }

  /**
   * Number of elements.
   *
   * @return at least 0
   */
  public int length() {
    return length;
  }

  /**
   * Bytes by which the payload is smaller than its elements as float32.
   *
   * @return a number of bytes; 0 for plain float32
   */
  public int savedBytes() {
    return length * Float.BYTES - payloadBytes();
  }

  /**
   * Size of the payload on the wire.
   *
   * @return a number of bytes
   */
  public int payloadBytes() {
    return bytes.remaining();
  }

  /**
   * A fresh read-only little-endian view of the payload, position 0.
   *
   * @return the view
   */
  public ByteBuffer bytes() {
    return bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** A fresh view that may be backed by an array, for bulk reading; must not be written. */
  ByteBuffer payload() {
    return bytes.duplicate();
  }

  /**
   * Writes all elements at the destination's position and advances it.
   *
   * @param destination has room for {@link #length()} values
   */
  public void copyTo(FloatBuffer destination) {
    if (destination.remaining() < length) {
      throw new BufferOverflowException();
    }
    if (isPlain()) {
      destination.put(bytes.asFloatBuffer());
      return;
    }
    Chunk.over(
        length,
        (chunk, first, count) -> {
          read(chunk, first, count);
          destination.put(chunk.elements(), 0, count);
        });
  }

  /**
   * {@code destination[offset + i] = this[i]}.
   *
   * @param destination has room for {@link #length()} values from the offset on
   * @param offset where the first element goes
   */
  public void copyTo(float[] destination, int offset) {
    copyTo(FloatBuffer.wrap(destination, offset, length()));
  }

  /**
   * {@code accumulator[offset + i] += scale * this[i]}, in float32, one rounding per product and
   * one per sum; a scale of 1 adds the elements themselves.
   *
   * @param accumulator has {@link #length()} elements from the offset on
   * @param offset where the first element is added
   * @param scale factor of every element
   */
  public void addTo(float[] accumulator, int offset, float scale) {
    Objects.checkFromIndexSize(offset, length, accumulator.length);
    Chunk.over(
        length,
        (chunk, first, count) -> {
          read(chunk, first, count);
          chunk.addTo(accumulator, offset + first, count, scale);
        });
  }

  /**
   * True when no element is NaN or infinite.
   *
   * @return true for a tensor of finite elements
   */
  public boolean isFinite() {
    int words = payloadBytes() / Integer.BYTES;
    return switch (encoding) {
      case DENSE ->
          Chunk.areFinite(type, bytes, 0, words)
              && (payloadBytes() % Integer.BYTES == 0 || isLastFinite());
      case INT8 -> Chunk.areFinite(type, bytes, 0, (int) Int8Blocks.blocks(length));
      case TOP_K -> Chunk.areFinite(type, bytes, words / 2, words);
    };
  }

  private boolean isLastFinite() {
    read(Chunk.ofThread(), length - 1, 1);
    return Float.isFinite(Chunk.ofThread().elements()[0]);
  }

  /** True for the same type, encoding and bits: NaN may equal NaN, 0 is not -0. */
  @Override
  public boolean equals(Object other) {
    return other instanceof Tensor tensor
        && type == tensor.type
        && encoding == tensor.encoding
        && length == tensor.length
        && bytes.equals(tensor.bytes);
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
    int shown = Math.min(SHOWN_ELEMENTS, length);
    Chunk chunk = Chunk.ofThread();
    read(chunk, 0, shown);
    Object name = encoding == Encoding.DENSE ? type : encoding;
    StringJoiner text = new StringJoiner(", ", "%s[%d] {".formatted(name, length), "}");
    for (int i = 0; i < shown; i++) {
      text.add(Float.toString(chunk.elements()[i]));
    }
    return (shown < length ? text.add("...") : text).toString();
  }

  void read(Chunk chunk, int first, int count) {
    switch (encoding) {
      case DENSE -> chunk.read(type, bytes, first, count);
      case INT8 -> Int8Blocks.read(bytes, length, first, count, chunk.elements());
      case TOP_K -> TopElements.read(bytes, first, count, chunk.elements());
      default -> throw new AssertionError(encoding);
    }
  }

  private static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }
}
