package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of a vector that one worker sends to another, without a server.
 *
 * @param id the sender, its membership epoch, its round ({@code step}) and the index of the piece
 *     ({@code partition}); the same on every retry
 * @param layout hash of the parameter layout
 * @param phase number of the exchange within the round, from 0
 * @param tensor the piece; at most one frame
 */
public record PeerPartition(ExchangeId id, long layout, int phase, TensorView tensor)
    implements Frame {

  /** Checks that a frame can carry the numbers. */
  public PeerPartition {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("phase", phase, 0);
    FrameLimits.requireFits("tensor", tensor);
  }

  @Override
  public PeerPartition retain() {
    return tensor instanceof BorrowedTensor
        ? new PeerPartition(id, layout, phase, tensor.retain())
        : this;
  }
}
