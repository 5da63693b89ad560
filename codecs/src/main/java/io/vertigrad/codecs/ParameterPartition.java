package io.vertigrad.codecs;

import java.util.Objects;

/**
 * The answer to a gradient or a pull: the parameters of one partition.
 *
 * @param id identity of the exchange that this answers
 * @param layout hash of the parameter layout
 * @param server incarnation of the server that answers; grows when a server is restarted
 * @param version number of updates applied to this partition so far
 * @param staleness number of updates applied between the version that the gradient was computed at
 *     and the gradient itself; 0 for a synchronous round and for a pull
 * @param outcome what the strategy did with the gradient
 * @param saved true if this answers the first update of its worker that the server's newest
 *     checkpoint lacks: a worker that goes back to the checkpoint goes on with this update
 * @param firstElement index of the partition's first element in the exchange vector
 * @param parameters the parameters at {@code version}; at most one frame
 */
public record ParameterPartition(
    ExchangeId id,
    long layout,
    int server,
    long version,
    int staleness,
    Outcome outcome,
    boolean saved,
    long firstElement,
    TensorView parameters)
    implements Frame {

  /**
   * Creates an answer that no checkpoint came before.
   *
   * @param id identity of the exchange that this answers
   * @param layout hash of the parameter layout
   * @param server incarnation of the server that answers
   * @param version number of updates applied to this partition so far
   * @param staleness number of updates applied since the version of the gradient
   * @param outcome what the strategy did with the gradient
   * @param firstElement index of the partition's first element in the exchange vector
   * @param parameters the parameters at {@code version}
   */
  public ParameterPartition(
      ExchangeId id,
      long layout,
      int server,
      long version,
      int staleness,
      Outcome outcome,
      long firstElement,
      TensorView parameters) {
    this(id, layout, server, version, staleness, outcome, false, firstElement, parameters);
  }

  /** Checks that a frame can carry the numbers. */
  public ParameterPartition {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(outcome, "outcome");
    FrameLimits.requireAtLeast("server", server, 0);
    FrameLimits.requireAtLeast("version", version, 0);
    FrameLimits.requireAtLeast("staleness", staleness, 0);
    FrameLimits.requireAtLeast("firstElement", firstElement, 0);
    FrameLimits.requireFits("parameters", parameters);
  }

  @Override
  public ParameterPartition retain() {
    return parameters instanceof BorrowedTensor ? with(parameters.retain()) : this;
  }

  /**
   * Returns this answer with its parameters in other memory.
   *
   * @param same a tensor with equal elements
   * @return a copy that shares all other fields
   */
  public ParameterPartition with(TensorView same) {
    return new ParameterPartition(
        id, layout, server, version, staleness, outcome, saved, firstElement, same);
  }

  /**
   * Returns this answer as that to the first update which a checkpoint lacks.
   *
   * @return a copy that shares all other fields
   */
  public ParameterPartition afterSave() {
    return new ParameterPartition(
        id, layout, server, version, staleness, outcome, true, firstElement, parameters);
  }

  /** The result of the exchange that this answers. */
  public enum Outcome implements Coded {
    /** The request was a pull: it carried no gradient. */
    PULLED(1),
    /** The gradient was applied. */
    APPLIED(2),
    /** The gradient arrived after its round had closed; it was not applied and counts as late. */
    LATE(3),
    /** The gradient arrived again; it had been applied before. */
    DUPLICATE(4),
    /** The gradient was older than the strategy's staleness bound; it was not applied. */
    TOO_STALE(5),
    /** The job had reached its last update; the gradient was not applied. */
    FINISHED(6);

    private final byte code;

    Outcome(int code) {
      this.code = (byte) code;
    }

    /** Returns the code that is written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }
}
