package io.vertigrad.codecs;

/** How a tensor's elements are laid out in a payload. */
public enum Encoding implements Coded {
  /** Every element, in order, in its {@link DataType}. */
  DENSE(0),
  /** A float32 scale for every 1,024 elements, then one signed byte per element. */
  INT8(1),
  /** The indices of some elements in ascending order, then their float32 values; others are 0. */
  TOP_K(2);

  private final byte code;

  Encoding(int code) {
    this.code = (byte) code;
  }

  /** The code written into the frame header. */
  @Override
  public byte code() {
    return code;
  }

  /** Most elements that one frame may stand for: as many as it takes of them dense. */
  int maxElements(DataType type) {
    return FrameLimits.maxElements(this == DENSE ? type : DataType.FLOAT32);
  }
}
