package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * A frame as bytes, in two pieces so that its payload need not be copied to stand behind the
 * header.
 *
 * @param header its first bytes; position 0
 * @param payload the rest, often a view of the frame's tensor; never to be written
 */
public record FrameBytes(ByteBuffer header, ByteBuffer payload) {

  /**
   * Bytes of both.
   *
   * @return the number of bytes
   */
  public int length() {
    return header.remaining() + payload.remaining();
  }

  /**
   * Writes the checksum into the header.
   *
   * @param behind what the checksum covers besides the header: the payload, or, where that travels
   *     by other means, what tells the receiver where it is
   * @return this frame
   */
  public FrameBytes seal(ByteBuffer behind) {
    HeaderField.CHECKSUM.write(header, FrameWriter.checksum(header, behind));
    return this;
  }
}
