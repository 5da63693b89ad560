package io.vertigrad.codecs;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.zip.CRC32C;

/**
 * A read-only vector of numbers in wire form: little-endian bytes of one {@link DataType} and
 * {@link Encoding}. A method that receives a view reads it before it returns, or {@linkplain
 * #retain() retains} it: a {@link Tensor} stays valid, a {@link BorrowedTensor} does not.
 *
 * <p>Values are rounded to a narrower type when the tensor is created. So local delivery, which
 * passes the object, and remote delivery, which copies the bytes, give the same numbers bit for
 * bit.
 */
public abstract sealed class TensorView permits Tensor, BorrowedTensor {

  private static final int SHOWN_ELEMENTS = 4;

  private final DataType type;
  private final Encoding encoding;
  private final int length;

  /**
   * Position 0, little-endian. It is never written through this view and never exposed as writable.
   */
  private final ByteBuffer bytes;

  /**
   * The smallest bound that was found to hold for all elements; NaN before the first check. A
   * thread that does not see the result of another thread checks again.
   */
  private float within = Float.NaN;

  TensorView(DataType type, Encoding encoding, int length, ByteBuffer bytes) {
    this.type = type;
    this.encoding = encoding;
    this.length = length;
    this.bytes = bytes;
  }

  /**
   * Returns a view of a payload that was checked.
   *
   * @param borrowed whether the payload's memory is reused after its borrower is done with it
   */
  static TensorView over(
      DataType type, Encoding encoding, int length, boolean borrowed, ByteBuffer payload) {
    ByteBuffer bytes = payload.slice().order(ByteOrder.LITTLE_ENDIAN);
    return borrowed
        ? new BorrowedTensor(type, encoding, length, bytes)
        : new Tensor(type, encoding, length, bytes);
  }

  /**
   * Returns these elements as a tensor that stays valid.
   *
   * @return this tensor, or a copy of borrowed memory
   */
  public abstract Tensor retain();

  /**
   * Returns the storage type of the elements.
   *
   * @return the type
   */
  public final DataType type() {
    return type;
  }

  /**
   * Returns the layout of the elements.
   *
   * @return the encoding
   */
  public final Encoding encoding() {
    return encoding;
  }

  /**
   * Returns true when the payload holds every element as float32 and nothing else.
   *
   * @return true for a plain float32 tensor
   */
  public final boolean isPlain() {
    return type == DataType.FLOAT32 && encoding == Encoding.DENSE;
  }

  /**
   * Returns the number of elements.
   *
   * @return at least 0
   */
  public final int length() {
    return length;
  }

  /**
   * Returns the number of bytes that the payload saves compared with float32 elements.
   *
   * @return a number of bytes; 0 for plain float32
   */
  public final int savedBytes() {
    return length * Float.BYTES - payloadBytes();
  }

  /**
   * Returns the size of the payload on the wire.
   *
   * @return a number of bytes
   */
  public final int payloadBytes() {
    return bytes.remaining();
  }

  /**
   * Returns a new read-only little-endian view of the payload at position 0.
   *
   * @return the view
   */
  public final ByteBuffer bytes() {
    return bytes.asReadOnlyBuffer().order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns a new view for bulk reading, possibly backed by an array; must not be written. */
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
    Chunk.forEachRange(
        length,
        (chunk, first, count) -> {
          read(chunk, first, count);
          destination.put(chunk.elements(), 0, count);
        });
  }

  /**
   * Copies all elements: {@code destination[offset + i] = this[i]}.
   *
   * @param destination has room for {@link #length()} values from the offset on
   * @param offset index of the first element in the destination
   */
  public final void copyTo(float[] destination, int offset) {
    copyTo(FloatBuffer.wrap(destination, offset, length()));
  }

  /**
   * Adds all elements, scaled: {@code accumulator[offset + i] += scale * this[i]}, in float32, with
   * one rounding per product and one per sum. A scale of 1 adds the elements themselves.
   *
   * @param accumulator has {@link #length()} elements from the offset on
   * @param offset index of the first element in the accumulator
   * @param scale factor of every element
   */
  public final void addTo(float[] accumulator, int offset, float scale) {
    Objects.checkFromIndexSize(offset, length, accumulator.length);
    Chunk.forEachRange(
        length,
        (chunk, first, count) -> {
          read(chunk, first, count);
          chunk.addTo(accumulator, offset + first, count, scale);
        });
  }

  /**
   * Returns true when no element is NaN or infinite.
   *
   * @return true for a tensor of finite elements
   */
  public final boolean isFinite() {
    return isWithin(Float.MAX_VALUE);
  }

  /**
   * Returns true when no element is NaN, infinite, or larger in magnitude than a bound. It costs as
   * much as {@link #isFinite}, because numbers without their sign order like their bits. For blocks
   * that share a scale, the scale decides.
   *
   * <p>The result is remembered, so a check costs nothing when the same tensor object was checked
   * before, for example by its sender in the same JVM.
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
      case INT8 -> areWithin(Int8Blocks.SCALES, bound);
      case INT4 -> areWithin(Int4Blocks.SCALES, bound);
      case SIGN -> areWithin(SignBlocks.SCALES, bound);
      case TOP_K -> Chunk.areWithin(type, bound, bytes, words / 2, words);
      case LOW_RANK -> LowRankFactors.areWithin(bytes, length, bound);
    };
  }

  private boolean areWithin(BlockScales scales, float bound) {
    int count = (int) scales.blocks(length);
    return Chunk.areWithin(type, scales.largestScale(bound), bytes, 0, count);
  }

  private boolean isLastWithin(float bound) {
    read(Chunk.ofThread(), length - 1, 1);
    return Math.abs(Chunk.ofThread().elements()[0]) <= bound;
  }

  /** Returns true for the same type, encoding and bits: NaN may equal NaN, 0 does not equal -0. */
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

  /** Returns type, length and the first few elements. */
  @Override
  public final String toString() {
    int shown = Math.min(SHOWN_ELEMENTS, length);
    Chunk chunk = Chunk.ofThread();
    read(chunk, 0, shown);
    Object name = encoding == Encoding.DENSE ? type : encoding;
    StringJoiner text = new StringJoiner(", ", "%s[%s] {".formatted(name, length), "}");
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
      case INT4 -> Int4Blocks.read(bytes, length, first, count, chunk.elements());
      case SIGN -> SignBlocks.read(bytes, length, first, count, chunk.elements());
      case LOW_RANK -> LowRankFactors.read(bytes, first, count, chunk.elements());
      default -> throw new AssertionError(encoding);
    }
  }
}
