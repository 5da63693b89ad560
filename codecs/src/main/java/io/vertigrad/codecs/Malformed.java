package io.vertigrad.codecs;

/**
 * What arrives in place of a frame that could not be decoded.
 *
 * @param field name of the first field that was wrong, as in {@code docs/wire-format.md}
 * @param offset its byte offset within the frame
 * @param found what the frame held
 * @param expected what it should have held
 */
public record Malformed(String field, int offset, String found, String expected) implements Frame {

  @Override
  public String toString() {
    return "malformed frame: %s at offset %d is %s, expected %s"
        .formatted(field, offset, found, expected);
  }
}
