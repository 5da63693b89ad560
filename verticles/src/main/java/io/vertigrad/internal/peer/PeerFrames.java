package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Tag;
import java.util.Optional;

/** The frame type, the addresses and the message texts for tagged tensors between workers. */
public interface PeerFrames {

  /** The contents of a frame. */
  record Opened(ExchangeId id, long layout, Tag tag, TensorView tensor) {}

  /** Returns the frames that the strategies of workers send. */
  static PeerFrames ofStrategies() {
    return new WorkerFrames();
  }

  /** Returns the address at which a worker listens. */
  String address(Addresses addresses, int rank, int incarnation);

  Frame frame(ExchangeId id, long layout, Tag tag, TensorView tensor);

  /** Returns the contents of a frame; empty for a frame of another kind. */
  Optional<Opened> open(Frame frame);

  /** Returns a worker's name for messages. */
  String name(int rank);

  /** Returns a description of an expected message. */
  String describe(Tag tag);
}
