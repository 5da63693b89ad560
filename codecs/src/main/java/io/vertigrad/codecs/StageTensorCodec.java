package io.vertigrad.codecs;

/** {@link StageTensor} as a frame of kind 7; the payload is the piece. */
final class StageTensorCodec extends FrameCodec<StageTensor> {

  StageTensorCodec() {
    super(7, StageTensor.class, "stage");
  }

  @Override
  void write(StageTensor frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.plan())
        .put(HeaderField.PHASE, frame.phase())
        .tensor(frame.firstElement(), frame.tensor());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long plan = from.any(HeaderField.LAYOUT);
    int phase = (int) from.between(HeaderField.PHASE, 0, 2L * StageTensor.MOST_MICRO_BATCHES - 1);
    long firstElement = from.atLeast(HeaderField.FIRST_ELEMENT, 0);
    TensorView tensor = from.tensor();
    return from.orMalformed(
        () ->
            new StageTensor(
                id,
                plan,
                StageTensor.directionOf(phase),
                StageTensor.microBatchOf(phase),
                firstElement,
                tensor));
  }
}
