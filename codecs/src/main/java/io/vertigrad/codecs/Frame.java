package io.vertigrad.codecs;

/**
 * A message between members: a binary frame on the wire, an immutable value in memory. A frame that
 * cannot be decoded arrives as {@link Malformed}, never as an exception.
 */
public sealed interface Frame
    permits GradientPartition,
        ParameterPartition,
        PullRequest,
        Refusal,
        Malformed,
        PeerPartition,
        StageTensor {

  /**
   * Returns this frame with a tensor that stays valid: itself, or a copy when its tensor is
   * {@linkplain BorrowedTensor borrowed}.
   *
   * @return a frame that may be used after its receiver returns
   */
  default Frame retain() {
    return this;
  }
}
