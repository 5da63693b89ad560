package io.vertigrad.codecs;

/**
 * What travels between members: one binary frame on the wire, one immutable value in memory. A
 * frame that could not be decoded arrives as {@link Malformed}, never as an exception.
 */
public sealed interface Frame
    permits GradientPartition,
        ParameterPartition,
        PullRequest,
        Refusal,
        Malformed,
        PeerPartition,
        StageTensor,
        ReplicaTensor,
        ReplicaCommit {

  /**
   * Returns this frame with a tensor that lasts: itself, or a copy where its tensor is {@linkplain
   * BorrowedTensor borrowed}.
   *
   * @return a frame that may be used after its receiver returns
   */
  default Frame retain() {
    return this;
  }
}
