package io.vertigrad.codecs;

/** How one element of a tensor is stored in a frame. */
public enum DataType {
  /** IEEE 754 single precision, the default. */
  FLOAT32(1, 4),
  /** IEEE 754 half precision: 11 significant bits, largest value 65,504. */
  FLOAT16(2, 2),
  /** The upper half of a float32: 8 significant bits, the full float32 range. */
  BFLOAT16(3, 2);

  private final byte code;
  private final int bytes;

  DataType(int code, int bytes) {
    this.code = (byte) code;
    this.bytes = bytes;
  }

  /** The code written into the frame header. */
  public byte code() {
    return code;
  }

  /** Bytes per element. */
  public int bytes() {
    return bytes;
  }

  /** The type with this code, or null if there is none. */
  public static DataType ofCode(int code) {
    for (DataType type : values()) {
      if (type.code == code) {
        return type;
      }
    }
    return null;
  }
}
