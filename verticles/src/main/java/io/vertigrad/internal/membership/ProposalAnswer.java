package io.vertigrad.internal.membership;

import java.util.List;
import java.util.OptionalLong;

/**
 * What a server answers to a proposed membership.
 *
 * @param reached empty when it took the membership over; otherwise the highest version any of its
 *     partitions has reached, because a newcomer's first round has already closed there
 * @param starts where each worker would go on; it counts for newcomers
 */
public record ProposalAnswer(OptionalLong reached, List<Start> starts) {

  /** Took it over, and has nothing to say about anybody. */
  public static final ProposalAnswer ACCEPTED = new ProposalAnswer(OptionalLong.empty(), List.of());

  public ProposalAnswer {
    starts = List.copyOf(starts);
  }

  /** The answer of a server that has closed a newcomer's first round. */
  public static ProposalAnswer refused(long reached) {
    return new ProposalAnswer(OptionalLong.of(reached), List.of());
  }

  /**
   * Where a worker goes on: the earliest that any of a server's partitions needs.
   *
   * @param rank of the worker
   * @param round first round of a lockstep strategy that its gradient is missing in; 0 elsewhere
   * @param step number of the first step that has not arrived
   */
  public record Start(int rank, long round, long step) {

    /** Of two servers' answers the one that needs more of the worker. */
    public Start earlier(Start other) {
      boolean before = round < other.round || round == other.round && step <= other.step;
      return before ? this : other;
    }
  }
}
