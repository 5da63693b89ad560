package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * Changes the membership, one change at a time: proposed to every server, in force when all agree.
 */
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

  /** Returns the membership in force. */
  Membership current() {
    return current;
  }

  /** Records that a member joined, left or is ready now. */
  void want() {
    wanted = true;
  }

  /** Returns whether something has changed since the last call. */
  boolean due() {
    boolean due = wanted;
    wanted = false;
    return due;
  }

  /**
   * Asks every server to accept the members that are present now; drops an unfinished proposal.
   *
   * @param newcomers false to leave out workers that are not part of the membership yet
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

  /** Returns whether a server's answer to this proposal still counts. */
  boolean awaits(int epoch, int server) {
    return proposal.awaits(epoch, server);
  }

  /** Records that a server accepted the proposal. */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    proposal.accepted(epoch, server, answer);
  }

  /** Returns whether all servers have accepted the proposal. */
  boolean complete() {
    return proposal.complete();
  }

  /** Returns the version that all servers must go back to before the proposal can be in force. */
  OptionalLong newestCommon() {
    return proposal.newestCommon();
  }

  /**
   * Records that a server is at or past a newcomer's first round; the next proposal leaves more
   * room.
   */
  void refused() {
    proposal.widen();
    wanted = true;
  }

  /**
   * Returns the proposal that all servers have accepted and puts it in force; empty if there is
   * none.
   */
  Optional<Membership> agreed() {
    if (!proposal.complete()) {
      return Optional.empty();
    }
    current = proposal.close(current);
    registry.published(current);
    return Optional.of(current);
  }
}
