package io.vertigrad.codecs;

import java.util.Objects;

/**
 * The answer to a gradient or a pull: the parameters of one partition.
 *
 * @param id identity of the exchange this answers
 * @param layout hash of the parameter layout
 * @param server incarnation of the server that answers; grows when a server is restarted
 * @param version updates applied to this partition so far
 * @param staleness updates that were applied between the version the gradient was computed at and
 *     its own; 0 for a synchronous round and for a pull
 * @param outcome what became of the gradient
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
    long firstElement,
    TensorView parameters)
    implements Frame {

  /** Refuses numbers that no frame can carry. */
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
   * The same answer with the same parameters in other memory.
   *
   * @param same equal elements
   * @return a copy that shares everything else
   */
  public ParameterPartition with(TensorView same) {
    return new ParameterPartition(
        id, layout, server, version, staleness, outcome, firstElement, same);
  }

  /** What a strategy did with the gradient that this answers. */
  public enum Outcome implements Coded {
    /** There was no gradient: this answers a pull. */
    PULLED(1),
    /** Applied, once. */
    APPLIED(2),
    /** Came after its round had closed; not applied, counted as late. */
    LATE(3),
    /** Came again; applied once before. */
    DUPLICATE(4),
    /** Older than the strategy's staleness bound; not applied. */
    TOO_STALE(5),
    /** The job had reached its last update; not applied. */
    FINISHED(6);

    private final byte code;

    Outcome(int code) {
      this.code = (byte) code;
    }

    /** The code written into the frame. */
    @Override
    public byte code() {
      return code;
    }
  }
}
