package io.vertigrad.codecs;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Reads one frame. Each getter checks its field; the reader keeps the first fault.
 *
 * <p>After a fault every getter returns a harmless value, so a codec reads all its fields in a row
 * and checks once, in {@link #orMalformed}. No method throws, and only a frame without faults leads
 * to an allocation.
 */
final class FrameReader {

  private static final HeaderField[] FIELDS = HeaderField.values();

  private final boolean borrowed;
  private ByteBuffer frame;
  private ByteBuffer payload = ByteBuffer.allocate(0);
  private Malformed fault;
  private long fieldsRead;

  /**
   * Opens a frame of a given kind that starts at {@code start}; bytes after it are ignored.
   *
   * @param borrowed true when the wire buffer is overwritten after the receiver of the frame
   *     returns
   */
  FrameReader(int kind, Buffer wire, int start, boolean borrowed) {
    this.borrowed = borrowed;
    int available = wire.length() - start;
    if (start < 0 || available < HeaderField.HEADER_BYTES) {
      String expected = "at least %s bytes".formatted(HeaderField.HEADER_BYTES);
      fault = new Malformed("frame", 0, "%s bytes".formatted(Math.max(0, available)), expected);
      return;
    }
    frame = view(wire, start, available);
    exactly(HeaderField.MAGIC, HeaderField.MAGIC_NUMBER);
    exactly(HeaderField.FORMAT_VERSION, HeaderField.CURRENT_FORMAT);
    openPayload(available - HeaderField.HEADER_BYTES);
    exactly(HeaderField.CHECKSUM, fault == null ? FrameWriter.checksum(frame, payload) : 0);
    exactly(HeaderField.KIND, kind);
  }

  /**
   * Opens a frame of a given kind whose payload is stored apart from its header.
   *
   * @param head the header, little-endian from position 0, followed by the bytes that its checksum
   *     covers in place of the payload
   * @param borrowed true when the payload is overwritten after the receiver of the frame returns
   */
  FrameReader(int kind, ByteBuffer head, ByteBuffer payload, boolean borrowed) {
    this.borrowed = borrowed;
    frame = head;
    exactly(HeaderField.MAGIC, HeaderField.MAGIC_NUMBER);
    exactly(HeaderField.FORMAT_VERSION, HeaderField.CURRENT_FORMAT);
    int length = payloadLength(payload.remaining());
    ByteBuffer covered =
        head.slice(HeaderField.HEADER_BYTES, head.remaining() - HeaderField.HEADER_BYTES);
    exactly(HeaderField.CHECKSUM, fault == null ? FrameWriter.checksum(frame, covered) : 0);
    exactly(HeaderField.KIND, kind);
    this.payload = payload.slice(payload.position(), length).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the kind of a frame without checking it; -1 if the buffer is shorter than a header. */
  static int kind(Buffer wire) {
    boolean whole = wire.length() >= HeaderField.HEADER_BYTES;
    return whole ? wire.getUnsignedByte(HeaderField.KIND.offset()) : -1;
  }

  /** Returns the field's value if it lies within the bounds; otherwise records a fault. */
  long between(HeaderField field, long least, long most) {
    fieldsRead |= 1L << field.ordinal();
    if (fault != null) {
      return least;
    }
    long found = field.read(frame);
    if (found < least || found > most) {
      fail(field, found, "%s to %s".formatted(field.show(least), field.show(most)));
      return least;
    }
    return found;
  }

  /** Returns a number that is at least {@code least}. */
  long atLeast(HeaderField field, long least) {
    return between(field, least, Long.MAX_VALUE);
  }

  /** Returns an int that is at least {@code least}. */
  int intAtLeast(HeaderField field, int least) {
    return (int) between(field, least, Integer.MAX_VALUE);
  }

  /** Returns any 64 bits, such as a hash. */
  long any(HeaderField field) {
    return between(field, Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /** Returns the constant whose code the field holds, or the first constant after a fault. */
  <E extends Enum<E> & Coded> E oneOf(HeaderField field, E[] constants) {
    long found = between(field, 0, 0xff);
    for (E constant : constants) {
      if (constant.code() == found) {
        return constant;
      }
    }
    fail(
        field,
        found,
        Arrays.stream(constants)
            .map(constant -> "%s (%s)".formatted(constant.code(), constant))
            .collect(Collectors.joining(", ")));
    return constants[0];
  }

  ExchangeId id() {
    return new ExchangeId(
        any(HeaderField.JOB),
        intAtLeast(HeaderField.WORKER, -1),
        intAtLeast(HeaderField.INCARNATION, 0),
        intAtLeast(HeaderField.EPOCH, 0),
        atLeast(HeaderField.STEP, 0),
        intAtLeast(HeaderField.PARTITION, 0));
  }

  /**
   * Returns the payload as a tensor. It is a view of the wire buffer if that is on the heap or
   * borrowed, otherwise a copy.
   */
  TensorView tensor() {
    DataType type = oneOf(HeaderField.DATA_TYPE, DataType.values());
    Encoding encoding = oneOf(HeaderField.ENCODING, Encoding.values());
    int elements = (int) between(HeaderField.ELEMENT_COUNT, 0, encoding.maxElements(type));
    if (fault == null) {
      fault = new TensorCheck(type, encoding, elements, payload).fault();
    }
    return fault == null
        ? TensorView.over(type, encoding, elements, borrowed, takePayload())
        : null;
  }

  /** Reads the next 32-bit number of the payload. */
  int payloadInt(String name, int least) {
    if (fault == null && payload.remaining() < Integer.BYTES) {
      fail(name, "%s bytes left".formatted(payload.remaining()), "4 bytes");
    }
    int found = fault == null ? payload.getInt(payload.position()) : least;
    if (found < least) {
      fail(name, Integer.toString(found), "at least %s".formatted(least));
      return least;
    }
    skip(Integer.BYTES);
    return found;
  }

  /** Reads the next text of the payload, of at most {@code limit} bytes. */
  String payloadText(String name, int limit) {
    if (fault == null && payload.remaining() < LengthPrefixedText.PREFIX_BYTES) {
      fail(name, "%s bytes left".formatted(payload.remaining()), "a length of 2 bytes");
    }
    int length = fault == null ? payload.getShort(payload.position()) & 0xffff : 0;
    int most = Math.min(limit, payload.remaining() - LengthPrefixedText.PREFIX_BYTES);
    if (fault == null && length > most) {
      fail(name, "%s bytes".formatted(length), "at most %s".formatted(most));
    }
    if (fault != null) {
      return "";
    }
    String text = LengthPrefixedText.decode(payload.slice(payload.position() + 2, length));
    if (text == null) {
      fail(name, "%s bytes that are no UTF-8".formatted(length), "UTF-8");
      return "";
    }
    skip(LengthPrefixedText.PREFIX_BYTES + length);
    return text;
  }

  /**
   * Returns the frame that {@code value} builds. Returns the fault instead if there was one, if a
   * field of another kind of frame is not zero, or if the payload holds more than was read.
   */
  Frame orMalformed(Supplier<? extends Frame> value) {
    fieldsRead |= 1L << HeaderField.PAYLOAD_LENGTH.ordinal();
    for (HeaderField field : FIELDS) {
      if ((fieldsRead & 1L << field.ordinal()) == 0) {
        exactly(field, 0);
      }
    }
    if (payload.hasRemaining()) {
      int taken = payload.position();
      fail(HeaderField.PAYLOAD_LENGTH, taken + payload.remaining(), Integer.toString(taken));
    }
    return fault != null ? fault : value.get();
  }

  private void exactly(HeaderField field, long expected) {
    fieldsRead |= 1L << field.ordinal();
    if (fault == null && field.read(frame) != expected) {
      fail(field, field.read(frame), field.show(expected));
    }
  }

  private void openPayload(int available) {
    int length = payloadLength(available);
    if (fault == null) {
      payload = frame.slice(HeaderField.HEADER_BYTES, length).order(ByteOrder.LITTLE_ENDIAN);
    }
  }

  /** Reads the payload length, at most {@code available}; returns 0 after a fault. */
  private int payloadLength(int available) {
    int length = (int) between(HeaderField.PAYLOAD_LENGTH, 0, FrameLimits.MAX_PAYLOAD_BYTES);
    if (length > available) {
      fail(
          HeaderField.PAYLOAD_LENGTH,
          length,
          "at most %s, the bytes received".formatted(available));
    }
    return fault == null ? length : 0;
  }

  private ByteBuffer takePayload() {
    ByteBuffer taken = payload.slice();
    skip(taken.remaining());
    if (taken.hasArray() || borrowed) {
      return taken;
    }
    return ByteBuffer.allocate(taken.remaining()).put(taken).flip();
  }

  private void skip(int bytes) {
    if (fault == null) {
      payload.position(payload.position() + bytes);
    }
  }

  private void fail(HeaderField field, long found, String expected) {
    if (fault == null) {
      fault = new Malformed(field.label(), field.offset(), field.show(found), expected);
    }
  }

  private void fail(String name, String found, String expected) {
    if (fault == null) {
      int offset = HeaderField.HEADER_BYTES + payload.position();
      fault = new Malformed(name, offset, found, expected);
    }
  }

  private static ByteBuffer view(Buffer wire, int start, int length) {
    return ((BufferInternal) wire)
        .getByteBuf()
        .nioBuffer(start, length)
        .order(ByteOrder.LITTLE_ENDIAN);
  }
}
