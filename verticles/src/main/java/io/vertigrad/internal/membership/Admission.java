package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.Optional;

/**
 * The coordinator's acceptance of a join request, and the member's identity from then on.
 *
 * @param role the role that the member asked for
 * @param rank from 0 within the role; a server's rank is the shard it owns
 * @param incarnation how many times the rank was admitted before
 */
public record Admission(Role role, int rank, int incarnation) {

  /** Returns whether this incarnation is in the membership; always true for an evaluator. */
  public boolean isPartOf(Membership membership) {
    Optional<Member> found =
        role == Role.SERVER ? membership.server(rank) : membership.worker(rank);
    return role == Role.EVALUATOR
        || found.filter(member -> member.incarnation() == incarnation).isPresent();
  }

  /** Returns {@code worker 1}, or {@code worker 1 (incarnation 2)} from incarnation 1 on. */
  @Override
  public String toString() {
    return describe(role.lower() + " " + rank);
  }

  /** Returns the same text with another name in place of the role and rank. */
  public String describe(String name) {
    return incarnation == 0 ? name : name + " (incarnation " + incarnation + ")";
  }
}
