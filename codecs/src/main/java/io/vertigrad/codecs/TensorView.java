package io.vertigrad.codecs;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.zip.CRC32C;

/**
 * A vector of numbers in its wire form, to be read: little-endian bytes of one {@link DataType} and
 * {@link Encoding}. Whoever is handed a view reads it before returning, or {@linkplain #retain()
 * retains} it: a {@link Tensor} lasts, a {@link BorrowedTensor} does not.
 *
 * <p>Rounding to a narrower type happens when the tensor is made, so local delivery, which hands
 * over the object, and remote delivery, which copies the bytes, give the same numbers bit for bit.
 */
public abstract sealed class TensorView permits Tensor, BorrowedTensor {

  private static final int SHOWN_ELEMENTS = 4;

  private final DataType type;
  private final Encoding encoding;
  private final int length;

  /** Position 0, little-endian; never written through this view and never handed out writable. */
  private final ByteBuffer bytes;

  /**
   * No magnitude was found to be above this; NaN when nobody has looked. A thread that does not see
   * what another has found looks for itself.
   */
  private float within = Float.NaN;

  TensorView(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    this.type = type;
    this.encoding = encoding;
    this.length = length;
    this.bytes = bytes;
  }

  /**
   * A view of a payload that was checked.
   *
   * @param borrowed whether the payload's memory is written again once its borrower is done with it
   */
  static TensorView over(
      DataType type, Encoding encoding, int length, boolean borrowed, ByteBuffer payload) {
    ByteBuffer bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
    return borrowed
        ? new BorrowedTensor(type, encoding, length, bytes)
        : new Tensor(type, encoding, length, bytes);
  }

  /**
   * Returns these elements as a tensor that lasts.
   *
   * @return this one, or a copy of borrowed memory
   */
  public abstract Tensor retain();

  /**
   * How each element is stored.
   *
   * @return the type
   */
  public final DataType type() {
    return type;
  }

  /**
   * How elements are laid out.
   *
   * @return the encoding
   */
  public final Encoding encoding() {
    return encoding;
  }

  /**
   * True when the payload is nothing but every element as float32.
   *
   * @return true for a plain float32 tensor
   */
  public final boolean isPlain() {
    return type == DataType.FLOAT32 && encoding == Encoding.DENSE;
  }

  /**
   * Number of elements.
   *
   * @return at least 0
   */
  public final int length() {
    return length;
  }

  /**
   * Bytes by which the payload is smaller than its elements as float32.
   *
   * @return a number of bytes; 0 for plain float32
   */
  public final int savedBytes() {
    return length * Float.BYTES - payloadBytes();
  }

  /**
   * Size of the payload on the wire.
   *
   * @return a number of bytes
   */
  public final int payloadBytes() {
    return bytes.remaining();
  }

  /**
   * A fresh read-only little-endian view of the payload, position 0.
   *
   * @return the view
   */
  public final ByteBuffer bytes() {
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
  public final void copyTo(FloatBuffer destination) {
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
  public final void copyTo(float[] destination, int offset) {
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
  public final void addTo(float[] accumulator, int offset, float scale) {
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
  public final boolean isFinite() {
    return isWithin(Float.MAX_VALUE);
  }

  /**
   * True when no element is NaN, infinite, or larger in magnitude than a bound. It costs what
   * {@link #isFinite} costs: without their sign, numbers order like their bits. Of blocks that
   * share a scale, the scale decides.
   *
   * <p>Elements are looked at once: a tensor that was found to be within a bound remembers it, so
   * that it costs nothing where a tensor that its sender has looked at is handed over as it is.
   *
   * @param bound finite and at least 0
   * @return true for a tensor whose elements are all from -bound to bound
   */
  public final boolean isWithin(float bound) {
    if (within <= bound) {
      return true;
    }
    boolean found = areElementsWithin(bound);
    if (found) {
      within = bound;
    }
    return found;
  }

  private boolean areElementsWithin(float bound) {
    int words = payloadBytes() / Integer.BYTES;
    return switch (encoding) {
      case DENSE ->
          Chunk.areWithin(type, bound, bytes, 0, words)
              && (payloadBytes() % Integer.BYTES == 0 || isLastWithin(bound));
      case INT8 ->
          Chunk.areWithin(
              type, Int8Blocks.largestScale(bound), bytes, 0, (int) Int8Blocks.blocks(length));
      case TOP_K -> Chunk.areWithin(type, bound, bytes, words / 2, words);
    };
  }

  private boolean isLastWithin(float bound) {
    read(Chunk.ofThread(), length - 1, 1);
    return Math.abs(Chunk.ofThread().elements()[0]) <= bound;
  }

  /** True for the same type, encoding and bits: NaN may equal NaN, 0 is not -0. */
  @Override
  public final boolean equals(Object other) {
    return other instanceof TensorView tensor
        && type == tensor.type
        && encoding == tensor.encoding
        && length == tensor.length
        && bytes.equals(tensor.bytes);
  }

  @Override
  public final int hashCode() {
    CRC32C checksum = new CRC32C();
    checksum.update(payload());
    return 31 * type.code() + (int) checksum.getValue();
  }

  /** Type, length and the first few elements. */
  @Override
  public final String toString() {
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
}
