package io.vertigrad.codecs;

/**
 * The largest size of a frame and of its parts.
 *
 * <p>The bus grows its buffers in powers of two, so a whole message is kept just below 512 KiB: the
 * payload takes up to 511 KiB, and header, addresses and codec name share the last KiB.
 */
public final class FrameLimits {

  /** Size of a frame's header in bytes. */
  public static final int HEADER_BYTES = HeaderField.HEADER_BYTES;

  /** Largest size of a frame in bytes, including the header: 511.5 KiB. */
  public static final int MAX_FRAME_BYTES = 523_776;

  /** Largest size of a frame's payload in bytes: 511 KiB. */
  public static final int MAX_PAYLOAD_BYTES = 523_264;

  /**
   * Number of float32 elements that fill one frame: the largest partition that fits into a single
   * frame.
   */
  public static final int MAX_ELEMENTS = MAX_PAYLOAD_BYTES / Float.BYTES;

  /** Largest number of UTF-8 bytes of a refusal's message; a longer message is cut. */
  public static final int MAX_MESSAGE_BYTES = 4_096;

  /** Largest number of UTF-8 bytes of each text of a {@link Malformed}; a longer text is cut. */
  public static final int MAX_DETAIL_BYTES = 512;

  private FrameLimits() {}

  /**
   * Returns the number of elements of a type that fill one frame.
   *
   * @param type of the elements
   * @return the largest number of elements
   */
  public static int maxElements(DataType type) {
    return MAX_PAYLOAD_BYTES / type.bytes();
  }

  static void requireAtLeast(String field, long found, long least) {
    if (found < least) {
      throw new IllegalArgumentException(
          "%s is %s, expected at least %s".formatted(field, found, least));
    }
  }

  static void requireFits(String field, TensorView tensor) {
    if (tensor.payloadBytes() > MAX_PAYLOAD_BYTES) {
      throw new IllegalArgumentException(
          "%s has %s elements of %s, expected at most %s: cut the vector into smaller partitions"
              .formatted(field, tensor.length(), tensor.type(), maxElements(tensor.type())));
    }
  }
}
