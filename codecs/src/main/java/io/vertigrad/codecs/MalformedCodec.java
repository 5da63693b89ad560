package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** {@link Malformed} as a frame of kind 5; a receiver returns it to the sender. */
final class MalformedCodec extends FrameCodec<Malformed> {

  MalformedCodec() {
    super(5, Malformed.class, "malformed");
  }

  @Override
  void write(Malformed frame, FrameWriter to) {
    ByteBuffer texts = LengthPrefixedText.payload(frame.field(), frame.found(), frame.expected());
    ByteBuffer payload =
        ByteBuffer.allocate(Integer.BYTES + texts.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    to.payload(payload.putInt(frame.offset()).put(texts).flip());
  }

  @Override
  Frame read(FrameReader from) {
    int offset = from.payloadInt("fault offset", 0);
    String field = from.payloadText("fault field", FrameLimits.MAX_DETAIL_BYTES);
    String found = from.payloadText("fault found", FrameLimits.MAX_DETAIL_BYTES);
    String expected = from.payloadText("fault expected", FrameLimits.MAX_DETAIL_BYTES);
    return from.orMalformed(() -> new Malformed(field, offset, found, expected));
  }
}
