package io.vertigrad.codecs;

/** {@link ParameterPartition} as a frame of kind 2; the payload is the parameters. */
final class ParameterPartitionCodec extends FrameCodec<ParameterPartition> {

  ParameterPartitionCodec() {
    super(2, ParameterPartition.class, "parameters");
  }

  @Override
  void write(ParameterPartition frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.SERVER, frame.server())
        .put(HeaderField.VERSION, frame.version())
        .put(HeaderField.STALENESS, frame.staleness())
        .put(HeaderField.OUTCOME, frame.outcome())
        .put(HeaderField.PHASE, frame.saved() ? 1 : 0)
        .tensor(frame.firstElement(), frame.parameters());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    int server = from.intAtLeast(HeaderField.SERVER, 0);
    long version = from.atLeast(HeaderField.VERSION, 0);
    int staleness = from.intAtLeast(HeaderField.STALENESS, 0);
    ParameterPartition.Outcome outcome =
        from.oneOf(HeaderField.OUTCOME, ParameterPartition.Outcome.values());
    boolean saved = from.between(HeaderField.PHASE, 0, 1) == 1;
    long first = from.atLeast(HeaderField.FIRST_ELEMENT, 0);
    TensorView parameters = from.tensor();
    return from.orMalformed(
        () ->
            new ParameterPartition(
                id, layout, server, version, staleness, outcome, saved, first, parameters));
  }
}
