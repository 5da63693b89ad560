package io.vertigrad.codecs;

/** {@link GradientPartition} as a frame of kind 1; the payload is the gradient. */
final class GradientPartitionCodec extends FrameCodec<GradientPartition> {

  GradientPartitionCodec() {
    super(1, GradientPartition.class, "gradient");
  }

  @Override
  void write(GradientPartition frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.version())
        .put(HeaderField.SAMPLES, frame.samples())
        .tensor(frame.firstElement(), frame.gradient());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    long version = from.atLeast(HeaderField.VERSION, 0);
    int samples = from.intAtLeast(HeaderField.SAMPLES, 1);
    long firstElement = from.atLeast(HeaderField.FIRST_ELEMENT, 0);
    TensorView gradient = from.tensor();
    return from.orMalformed(
        () -> new GradientPartition(id, layout, version, samples, firstElement, gradient));
  }
}
