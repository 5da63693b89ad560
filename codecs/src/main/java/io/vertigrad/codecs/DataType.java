package io.vertigrad.codecs;

/** How one element of a tensor is stored in a frame. */
public enum DataType implements Coded {
  /** IEEE 754 single precision, the default. */
  FLOAT32(1, 4, 0x7f800000, 0x00800000),
  /** IEEE 754 half precision: 11 significant bits, largest value 65,504. */
  FLOAT16(2, 2, 0x7c007c00, 0x04000400),
  /** The upper half of a float32: 8 significant bits, the full float32 range. */
  BFLOAT16(3, 2, 0x7f807f80, 0x00800080);

  private final byte code;
  private final int bytes;
  private final int exponentMask;
  private final int exponentUnit;

  DataType(int code, int bytes, int exponentMask, int exponentUnit) {
    this.code = (byte) code;
    this.bytes = bytes;
    this.exponentMask = exponentMask;
    this.exponentUnit = exponentUnit;
  }

  /** The code written into the frame header. */
  @Override
  public byte code() {
    return code;
  }

  /**
   * Bytes per element.
   *
   * @return 2 or 4
   */
  public int bytes() {
    return bytes;
  }

  /** The exponent bits of the one or two elements that share a 32-bit word. */
  int exponentMask() {
    return exponentMask;
  }

  /** The lowest exponent bit of each of those elements. */
  int exponentUnit() {
    return exponentUnit;
  }

  /**
   * The type with this code, or null if there is none.
   *
   * @param code as in a frame
   * @return the type, or null
   */
  public static DataType ofCode(int code) {
    for (DataType type : values()) {
      if (type.code == code) {
        return type;
      }
    }
    return null;
  }
}
