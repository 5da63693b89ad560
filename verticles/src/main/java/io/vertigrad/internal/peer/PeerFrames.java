package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.Optional;

/**
 * As which frames tagged tensors travel between workers, to which addresses, and in which words.
 */
public interface PeerFrames {

  /** What was in a frame. */
  record Opened(ExchangeId id, long layout, Tag tag, TensorView tensor) {}

  /** What strategies beside workers send. */
  static PeerFrames ofStrategies() {
    return new WorkerFrames();
  }

  /** Where a worker listens. */
  String address(Addresses addresses, int rank, int incarnation);

  Frame frame(ExchangeId id, long layout, Tag tag, TensorView tensor);

  /** Empty for a frame of another kind. */
  Optional<Opened> open(Frame frame);

  /** A worker, for people. */
  String name(int rank);

  /** What is waited for, for people. */
  String describe(Tag tag);
}
