package io.vertigrad.internal.membership;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What a server answers to a proposed membership.
 *
 * @param reached empty when it took the membership over; otherwise the highest version any of its
 *     partitions has reached, because a newcomer's first round has already closed there
 * @param starts where each worker would go on; it counts for newcomers
 * @param held what the server has; empty of one without partitions, and where servers do not move
 *     in rounds
 */
public record ProposalAnswer(OptionalLong reached, List<Start> starts, Optional<Held> held) {

  /** Took it over, and has nothing to say about anybody. */
  public static final ProposalAnswer ACCEPTED = new ProposalAnswer(OptionalLong.empty(), List.of());

  public ProposalAnswer {
    starts = List.copyOf(starts);
  }

  /** An answer of which nothing is known but where workers go on. */
  public ProposalAnswer(OptionalLong reached, List<Start> starts) {
    this(reached, starts, Optional.empty());
  }

  /** The same answer of a server that has this. */
  public ProposalAnswer with(Held has) {
    return new ProposalAnswer(reached, starts, Optional.of(has));
  }

  /** The answer of a server that has closed a newcomer's first round. */
  public static ProposalAnswer refused(long reached) {
    return new ProposalAnswer(OptionalLong.of(reached), List.of());
  }

  /**
   * What a server has of its shard.
   *
   * @param low version that all of its partitions have reached
   * @param high version that any of them has reached
   * @param kept versions that it can go back to, 0 among them
   */
  public record Held(long low, long high, List<Long> kept) {

    public Held {
      kept = List.copyOf(kept);
    }
  }

  /**
   * Where a worker goes on: the earliest that any of a server's partitions needs.
   *
   * @param rank of the worker
   * @param round first round of a lockstep strategy that its gradient is missing in; 0 elsewhere
   * @param step number of the first step that has not arrived
   */
  public record Start(int rank, long round, long step) {

    /**
     * What two servers' answers need of the worker together. With a quorum the one that is in an
     * earlier round may have heard more of the worker's steps.
     */
    public Start earlier(Start other) {
      return new Start(rank, Math.min(round, other.round), Math.min(step, other.step));
    }
  }
}
