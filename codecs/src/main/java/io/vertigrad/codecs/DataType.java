package io.vertigrad.codecs;

/** How one element of a tensor is stored in a frame. */
public enum DataType implements Coded {
  /** IEEE 754 single precision, the default. */
  FLOAT32(1, 4, 0x80000000),
  /** IEEE 754 half precision: 11 significant bits, largest value 65,504. */
  FLOAT16(2, 2, 0x80008000),
  /** The upper half of a float32: 8 significant bits, the full float32 range. */
  BFLOAT16(3, 2, 0x80008000);

  private final byte code;
  private final int bytes;
  private final int signs;

  DataType(int code, int bytes, int signs) {
    this.code = (byte) code;
    this.bytes = bytes;
    this.signs = signs;
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

  /** The sign bits of the one or two elements that share a 32-bit word. */
  int signs() {
    return signs;
  }

  /**
   * The bits, in each element of a 32-bit word, of the largest magnitude of this type that is not
   * above a bound.
   *
   * @param bound finite and at least 0
   */
  int magnitudeLimit(float bound) {
    if (this == FLOAT32) {
      return Float.floatToIntBits(bound);
    }
    int half = this == FLOAT16 ? Float16.narrow(bound) : BFloat16.narrow(bound);
    int below = widen((short) half) > bound ? half - 1 : half;
    return below << Short.SIZE | below;
  }

  private float widen(short half) {
    return this == FLOAT16 ? Float16.widen(half) : BFloat16.widen(half);
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
