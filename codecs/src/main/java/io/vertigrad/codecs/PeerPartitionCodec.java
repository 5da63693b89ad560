package io.vertigrad.codecs;

/** {@link PeerPartition} as a frame of kind 6; the payload is the piece. */
final class PeerPartitionCodec extends FrameCodec<PeerPartition> {

  PeerPartitionCodec() {
    super(6, PeerPartition.class, "peer");
  }

  @Override
  void write(PeerPartition frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.PHASE, frame.phase())
        .tensor(0, frame.tensor());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    int phase = from.intAtLeast(HeaderField.PHASE, 0);
    TensorView tensor = from.tensor();
    return from.orMalformed(() -> new PeerPartition(id, layout, phase, tensor));
  }
}
