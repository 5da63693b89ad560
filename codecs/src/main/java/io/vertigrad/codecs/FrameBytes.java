package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * A frame as bytes. Header and payload are separate, so that the payload need not be copied covered
 * the header.
 *
 * @param header the first bytes; position 0
 * @param payload the rest, often a view of the frame's tensor; must not be written
 */
public record FrameBytes(ByteBuffer header, ByteBuffer payload) {

  /**
   * Returns the length of header and payload together.
   *
   * @return number of bytes
   */
  public int length() {
    return header.remaining() + payload.remaining();
  }

  /**
   * Writes the checksum into the header.
   *
   * @param covered bytes that the checksum covers besides the header: the payload, or, when the
   *     payload travels separately, the bytes that describe where it is
   * @return this frame
   */
  public FrameBytes seal(ByteBuffer covered) {
    HeaderField.CHECKSUM.write(header, FrameWriter.checksum(header, covered));
    return this;
  }
}
