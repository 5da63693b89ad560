package io.vertigrad.codecs;

import java.util.Objects;

/**
 * A piece of a vector on its way from one worker to another, without a server.
 *
 * @param id who sends it, in which membership epoch and round ({@code step}), and which piece
 *     ({@code partition}); the same on every retry
 * @param layout hash of the parameter layout
 * @param phase which of a round's exchanges it belongs to, from 0
 * @param tensor the piece; at most one frame
 */
public record PeerPartition(ExchangeId id, long layout, int phase, TensorView tensor)
    implements Frame {

  /** Refuses numbers that no frame can carry. */
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
