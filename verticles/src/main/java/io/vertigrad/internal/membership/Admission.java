package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.Optional;

/**
 * The coordinator's yes to a join, and from then on the member's identity.
 *
 * @param role as asked for
 * @param rank from 0 within the role; a server's rank is the shard it owns
 * @param incarnation how many times that rank has been admitted before
 */
public record Admission(Role role, int rank, int incarnation) {

  /** True when this very incarnation takes part; an evaluator watches any membership. */
  public boolean isPartOf(Membership membership) {
    Optional<Member> found =
        role == Role.SERVER ? membership.server(rank) : membership.worker(rank);
    return role == Role.EVALUATOR
        || found.filter(member -> member.incarnation() == incarnation).isPresent();
  }

  /** For people: {@code worker 1}, or {@code worker 1 (incarnation 2)} from the second on. */
  @Override
  public String toString() {
    return describe(role.lower() + " " + rank);
  }

  /** Likewise under another name. */
  public String describe(String name) {
    return incarnation == 0 ? name : name + " (incarnation " + incarnation + ")";
  }
}
