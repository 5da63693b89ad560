package io.vertigrad.codecs;

/**
 * What arrives in place of a frame that could not be decoded.
 *
 * <p>Each text is cut at {@link FrameLimits#MAX_DETAIL_BYTES}.
 *
 * @param field name of the first field that was wrong, as in {@code docs/wire-format.md}
 * @param offset its byte offset within the frame
 * @param found what the frame held
 * @param expected what it should have held
 */
public record Malformed(String field, int offset, String found, String expected) implements Frame {

  /** Cuts texts to what a frame may carry. */
  public Malformed {
    FrameLimits.requireAtLeast("offset", offset, 0);
    field = LengthPrefixedText.cut(field, FrameLimits.MAX_DETAIL_BYTES);
    found = LengthPrefixedText.cut(found, FrameLimits.MAX_DETAIL_BYTES);
    expected = LengthPrefixedText.cut(expected, FrameLimits.MAX_DETAIL_BYTES);
  }

  @Override
  public String toString() {
    return "malformed frame: %s at offset %d is %s, expected %s"
        .formatted(field, offset, found, expected);
  }
}
