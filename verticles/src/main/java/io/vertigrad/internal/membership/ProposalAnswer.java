package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.internal.RecordJson.Key;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A server's answer to a proposed membership.
 *
 * @param reached empty when it accepted the membership; otherwise the highest version of any of its
 *     partitions, because a newcomer's first round has already closed there
 * @param starts where each worker would go on; used for newcomers
 * @param held the versions that the server has; empty without partitions, and if servers do not
 *     move in rounds
 */
public record ProposalAnswer(
    @Key("version") OptionalLong reached,
    @MayBeAbsent List<Start> starts,
    @Inline Optional<Held> held) {

  /** Accepts the membership, without information about any worker. */
  public static final ProposalAnswer ACCEPTED = new ProposalAnswer(OptionalLong.empty(), List.of());

  public ProposalAnswer {
    starts = List.copyOf(starts);
  }

  /** Creates an answer without information about the server's versions. */
  public ProposalAnswer(OptionalLong reached, List<Start> starts) {
    this(reached, starts, Optional.empty());
  }

  /** Returns the same answer with the server's versions. */
  public ProposalAnswer with(Held has) {
    return new ProposalAnswer(reached, starts, Optional.of(has));
  }

  /** Returns the answer of a server that has already closed a newcomer's first round. */
  public static ProposalAnswer refused(long reached) {
    return new ProposalAnswer(OptionalLong.of(reached), List.of());
  }

  /**
   * The versions of a shard that a server has.
   *
   * @param low version that all of its partitions have reached
   * @param high highest version that any of them has reached
   * @param kept versions that it can go back to, 0 among them
   */
  public record Held(long low, long high, List<Long> kept) {

    public Held {
      kept = List.copyOf(kept);
    }
  }

  /**
   * The step at which a worker goes on: the earliest that any partition of a server needs.
   *
   * @param rank of the worker
   * @param round first round of a lockstep strategy that its gradient is missing in; 0 elsewhere
   * @param step number of the first step that has not arrived
   */
  public record Start(int rank, long round, long step) {

    /**
     * Returns where the worker goes on if two servers answer differently. With a quorum, the server
     * that is in an earlier round may have received more of the worker's steps.
     */
    public Start earlier(Start other) {
      return new Start(rank, Math.min(round, other.round), Math.min(step, other.step));
    }
  }
}
