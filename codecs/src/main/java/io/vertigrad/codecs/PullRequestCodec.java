package io.vertigrad.codecs;

/** {@link PullRequest} as a frame of kind 3, without payload. */
final class PullRequestCodec extends FrameCodec<PullRequest> {

  PullRequestCodec() {
    super(3, PullRequest.class, "pull");
  }

  @Override
  void write(PullRequest frame, FrameWriter to) {
    to.id(frame.id())
        .put(HeaderField.LAYOUT, frame.layout())
        .put(HeaderField.VERSION, frame.minimumVersion());
  }

  @Override
  Frame read(FrameReader from) {
    ExchangeId id = from.id();
    long layout = from.any(HeaderField.LAYOUT);
    long minimumVersion = from.atLeast(HeaderField.VERSION, 0);
    return from.orMalformed(() -> new PullRequest(id, layout, minimumVersion));
  }
}
