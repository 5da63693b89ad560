package io.vertigrad.codecs;

/**
 * The largest frame, and how large its parts may be.
 *
 * <p>The bus grows its buffers in powers of two, so a whole message is kept just below 512 KiB: the
 * payload takes 511 KiB, and header, addresses and codec name share the last KiB.
 */
public final class FrameLimits {

  /** A frame's header. */
  public static final int HEADER_BYTES = HeaderField.HEADER_BYTES;

  /** A frame, header included, never takes more: 511.5 KiB. */
  public static final int MAX_FRAME_BYTES = 523_776;

  /** A frame's payload never takes more: 511 KiB. */
  public static final int MAX_PAYLOAD_BYTES = 523_264;

  /** Float32 elements that fill one frame; the largest partition that needs no second one. */
  public static final int MAX_ELEMENTS = MAX_PAYLOAD_BYTES / Float.BYTES;

  /** UTF-8 bytes of a refusal's message; a longer one is cut. */
  public static final int MAX_MESSAGE_BYTES = 4_096;

  /** UTF-8 bytes of each text of a {@link Malformed}; a longer one is cut. */
  public static final int MAX_DETAIL_BYTES = 512;

  private FrameLimits() {}

  /**
   * Elements of this type that fill one frame.
   *
   * @param type of the elements
   * @return the most elements
   */
  public static int maxElements(DataType type) {
    return MAX_PAYLOAD_BYTES / type.bytes();
  }

  static void requireAtLeast(String field, long found, long least) {
    if (found < least) {
      throw new IllegalArgumentException(
          "%s is %d, expected at least %d".formatted(field, found, least));
    }
  }

  static void requireFits(String field, TensorView tensor) {
    if (tensor.payloadBytes() > MAX_PAYLOAD_BYTES) {
      throw new IllegalArgumentException(
          "%s has %d elements of %s, expected at most %d: cut the vector into smaller partitions"
              .formatted(field, tensor.length(), tensor.type(), maxElements(tensor.type())));
    }
  }
}
