package io.vertigrad.codecs;

/** How a tensor's elements are laid out in a payload. */
enum Encoding implements Coded {
  /** Every element, in order, in its {@link DataType}. */
  DENSE(0);

  private final byte code;

  Encoding(int code) {
    this.code = (byte) code;
  }

  @Override
  public byte code() {
    return code;
  }

  /** The only payload length that this many elements can have. */
  long payloadBytes(DataType type, long elements) {
    return elements * type.bytes();
  }
}
