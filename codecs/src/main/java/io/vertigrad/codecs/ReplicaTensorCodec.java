package io.vertigrad.codecs;

/** {@link ReplicaTensor} as a frame of kind 8; the payload is the piece. */
final class ReplicaTensorCodec extends FrameCodec<ReplicaTensor> {

  ReplicaTensorCodec() {
    super(8, ReplicaTensor.class, "replica");
  }

  @Override
  void write(ReplicaTensor frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.version())
        .put(HeaderField.PHASE, frame.part())
        .tensor(frame.firstElement(), frame.tensor());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    long version = from.atLeast(HeaderField.VERSION, 0);
    ReplicaTensor.Part part = from.oneOf(HeaderField.PHASE, ReplicaTensor.Part.values());
    long firstElement = from.atLeast(HeaderField.FIRST_ELEMENT, 0);
    TensorView tensor = from.tensor();
    return from.orMalformed(
        () -> new ReplicaTensor(id, layout, version, part, firstElement, tensor));
  }
}
