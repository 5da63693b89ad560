package io.vertigrad.codecs;

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
 * @param parameters the parameters at {@code version}
 */
public record ParameterPartition(
    ExchangeId id,
    long layout,
    int server,
    long version,
    int staleness,
    Outcome outcome,
    long firstElement,
    Tensor parameters)
    implements Frame {

  /** What a strategy did with the gradient that this answers. */
  public enum Outcome {
    /** There was no gradient: this answers a pull. */
    PULLED,
    /** Applied, once. */
    APPLIED,
    /** Came after its round had closed; not applied, counted as late. */
    LATE,
    /** Came again; applied once before. */
    DUPLICATE,
    /** Older than the strategy's staleness bound; not applied. */
    TOO_STALE,
    /** The job had reached its last update; not applied. */
    FINISHED
  }
}
