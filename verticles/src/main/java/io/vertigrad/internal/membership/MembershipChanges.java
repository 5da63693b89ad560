package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** Changes of a membership, one at a time: proposed to every server, in force when all agree. */
final class MembershipChanges {

  private final MembershipProposal proposal;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final Consumer<Decision> decisions;
  private Membership current = Membership.NONE;
  private boolean wanted;

  MembershipChanges(
      MembershipProposal proposal,
      MemberRegistry registry,
      JobProgress progress,
      Consumer<Decision> decisions) {
    this.proposal = proposal;
    this.registry = registry;
    this.progress = progress;
    this.decisions = decisions;
  }

  /** In force now. */
  Membership current() {
    return current;
  }

  /** Somebody came, left or got ready. */
  void want() {
    wanted = true;
  }

  /** True once after something changed. */
  boolean due() {
    boolean due = wanted;
    wanted = false;
    return due;
  }

  /**
   * Asks every server to take over whoever is here now; an unfinished attempt is forgotten.
   *
   * @param newcomers false to let workers that are no part yet wait
   */
  void propose(boolean newcomers) {
    Membership next =
        proposal.propose(registry, progress.version(), current.epoch() > 0, newcomers);
    next.servers()
        .forEach(
            server ->
                decisions.accept(
                    new Propose(
                        next, new Admission(Role.SERVER, server.rank(), server.incarnation()))));
  }

  /** True while a server's answer to this proposal matters. */
  boolean awaits(int epoch, int server) {
    return proposal.awaits(epoch, server);
  }

  /** A server took the proposal over. */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    proposal.accepted(epoch, server, answer);
  }

  /** True when all servers have taken the proposal over. */
  boolean complete() {
    return proposal.complete();
  }

  /** The version that all servers have to go back to before the proposal can be in force. */
  OptionalLong newestCommon() {
    return proposal.newestCommon();
  }

  /** A server is at or past a newcomer's first round; the next proposal leaves more room. */
  void refused() {
    proposal.widen();
    wanted = true;
  }

  /** The proposal that all servers have taken over, now in force; empty when there is none. */
  Optional<Membership> agreed() {
    if (!proposal.complete()) {
      return Optional.empty();
    }
    current = proposal.close(current);
    registry.published(current);
    return Optional.of(current);
  }
}
