package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * The fields of a frame's header, in order, with their fixed offsets. All are little-endian.
 *
 * <p>{@code docs/reference/wire-format.md} gives each field's meaning and is tested against these
 * constants. A field that a kind of frame does not use is zero.
 */
enum HeaderField {
  MAGIC("magic", 0, Type.U32),
  FORMAT_VERSION("format version", 4, Type.U8),
  KIND("kind", 5, Type.U8),
  FLAGS("flags", 6, Type.U16),
  JOB("job", 8, Type.I64),
  LAYOUT("layout", 16, Type.I64),
  WORKER("worker", 24, Type.I32),
  INCARNATION("incarnation", 28, Type.I32),
  EPOCH("epoch", 32, Type.I32),
  PARTITION("partition", 36, Type.I32),
  STEP("step", 40, Type.I64),
  VERSION("version", 48, Type.I64),
  FIRST_ELEMENT("first element", 56, Type.I64),
  ELEMENT_COUNT("element count", 64, Type.I32),
  DATA_TYPE("data type", 68, Type.U8),
  ENCODING("encoding", 69, Type.U8),
  OUTCOME("outcome", 70, Type.U8),
  REASON("reason", 71, Type.U8),
  SAMPLES("samples", 72, Type.I32),
  STALENESS("staleness", 76, Type.I32),
  SERVER("server", 80, Type.I32),
  PHASE("phase", 84, Type.I32),
  PAYLOAD_LENGTH("payload length", 88, Type.I32),
  CHECKSUM("checksum", 92, Type.U32);

  /** Size of the whole header in bytes; the payload starts at this offset. */
  static final int HEADER_BYTES = 96;

  /** The bytes "VGRD", read as a little-endian number. */
  static final long MAGIC_NUMBER = 0x44524756L;

  /** The version of this header layout. */
  static final int CURRENT_FORMAT = 1;

  private final String label;
  private final int offset;
  private final Type type;

  HeaderField(String label, int offset, Type type) {
    this.label = label;
    this.offset = offset;
    this.type = type;
  }

  /** Returns the name that errors and the documentation use. */
  String label() {
    return label;
  }

  /** Returns the offset of the first byte from the start of the frame. */
  int offset() {
    return offset;
  }

  Type type() {
    return type;
  }

  /** Reads this field from a little-endian frame that starts at index 0. */
  long read(ByteBuffer frame) {
    return switch (type) {
      case U8 -> frame.get(offset) & 0xffL;
      case U16 -> frame.getShort(offset) & 0xffffL;
      case I32 -> frame.getInt(offset);
      case U32 -> frame.getInt(offset) & 0xffff_ffffL;
      case I64 -> frame.getLong(offset);
    };
  }

  /** Writes this field into a little-endian header that starts at index 0. */
  void write(ByteBuffer header, long value) {
    switch (type) {
      case U8 -> header.put(offset, (byte) value);
      case U16 -> header.putShort(offset, (short) value);
      case I32, U32 -> header.putInt(offset, (int) value);
      case I64 -> header.putLong(offset, value);
      default -> throw new AssertionError(type);
    }
  }

  /** Formats a value for error messages: decimal for counts, hexadecimal for bit patterns. */
  String show(long value) {
    return type == Type.U32 ? "0x%08x".formatted(value) : Long.toString(value);
  }

  /** The width of a field in bits, and whether it is unsigned or two's complement. */
  enum Type {
    U8(1),
    U16(2),
    I32(4),
    U32(4),
    I64(8);

    private final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }

    int bytes() {
      return bytes;
    }
  }
}
