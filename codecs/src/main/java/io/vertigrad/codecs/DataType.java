package io.vertigrad.codecs;

/** The storage format of one element of a tensor in a frame. */
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

  /** Returns the code that is written into the frame header. */
  @Override
  public byte code() {
    return code;
  }

  /**
   * Returns the size of an element in bytes.
   *
   * @return 2 or 4
   */
  public int bytes() {
    return bytes;
  }

  /** Returns a mask of the sign bits of the one or two elements in a 32-bit word. */
  int signs() {
    return signs;
  }

  /**
   * Returns the bits of the largest magnitude of this type that does not exceed a bound, repeated
   * for each element of a 32-bit word.
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
}
