package io.vertigrad.codecs;

/** {@link Refusal} as a frame of kind 4; the payload is the message. */
final class RefusalCodec extends FrameCodec<Refusal> {

  RefusalCodec() {
    super(4, Refusal.class, "refusal");
  }

  @Override
  void write(Refusal frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.REASON, frame.reason())
        .payload(LengthPrefixedText.payload(frame.message()));
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    Refusal.Reason reason = from.oneOf(HeaderField.REASON, Refusal.Reason.values());
    String message = from.payloadText("message", FrameLimits.MAX_MESSAGE_BYTES);
    return from.orMalformed(() -> new Refusal(id, reason, message));
  }
}
