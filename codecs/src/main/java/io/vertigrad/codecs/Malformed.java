package io.vertigrad.codecs;

/**
 * The value that arrives in place of a frame that could not be decoded.
 *
 * <p>Each text is cut at {@link FrameLimits#MAX_DETAIL_BYTES}.
 *
 * @param field name of the first invalid field, as in {@code docs/reference/wire-format.md}
 * @param offset byte offset of the field within the frame
 * @param found value in the frame
 * @param expected valid values
 */
public record Malformed(String field, int offset, String found, String expected) implements Frame {

  /** Cuts the texts to the length that a frame may carry. */
  public Malformed {
    FrameLimits.requireAtLeast("offset", offset, 0);
    field = LengthPrefixedText.cut(field, FrameLimits.MAX_DETAIL_BYTES);
    found = LengthPrefixedText.cut(found, FrameLimits.MAX_DETAIL_BYTES);
    expected = LengthPrefixedText.cut(expected, FrameLimits.MAX_DETAIL_BYTES);
  }

  @Override
  public String toString() {
    return "malformed frame: %s at offset %s is %s, expected %s"
        .formatted(field, offset, found, expected);
  }
}
