package io.vertigrad.codecs;

/** The layout of a tensor's elements in a payload. */
public enum Encoding implements Coded {
  /** Every element, in order, in its {@link DataType}. */
  DENSE(0),
  /** A float32 scale for every 1,024 elements, followed by one signed byte per element. */
  INT8(1),
  /**
   * The indices of some elements in ascending order, followed by their float32 values; all other
   * elements are 0.
   */
  TOP_K(2),
  /** A float32 scale for every 128 elements, followed by four bits per element. */
  INT4(3),
  /** A float32 magnitude for every 1,024 elements, followed by the sign of each as one bit. */
  SIGN(4),
  /** The factors of some matrices of low rank, and all other elements as float32. */
  LOW_RANK(5);

  private final byte code;

  Encoding(int code) {
    this.code = (byte) code;
  }

  /** Returns the code that is written into the frame header. */
  @Override
  public byte code() {
    return code;
  }

  /**
   * Returns the largest number of elements that one frame may represent: as many as fit into it
   * when dense.
   */
  int maxElements(DataType type) {
    return FrameLimits.maxElements(this == DENSE ? type : DataType.FLOAT32);
  }
}
