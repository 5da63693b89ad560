package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;

/**
 * The proposal of the next membership to every server, before other members receive it.
 *
 * <p>Each attempt has its own epoch, so that late answers to an older attempt are ignored.
 */
final class MembershipProposal {

  private static final long FIRST_MARGIN = 4;
  private static final long LARGEST_MARGIN = 1 << 20;

  private final boolean lockstep;
  private final int ranks;
  private final long lastVersion;
  private final Map<Integer, ProposalAnswer.Start> starts = new HashMap<>();
  private final Set<Integer> unanswered = new TreeSet<>();
  private final Map<Integer, ProposalAnswer.Held> held = new HashMap<>();
  private Membership next;
  private boolean pending;
  private long margin = FIRST_MARGIN;

  /**
   * Creates a proposal without an attempt.
   *
   * @param lockstep true when workers move in rounds
   * @param ranks number of ranks whose updates the servers remember: a newcomer with one of them
   *     starts where the servers say
   * @param epoch last epoch that earlier coordinators can have used
   */
  MembershipProposal(boolean lockstep, int ranks, long lastVersion, int epoch) {
    this.lockstep = lockstep;
    next = new Membership(epoch, List.of(), List.of());
    this.ranks = ranks;
    this.lastVersion = lastVersion;
  }

  /**
   * Starts an attempt with the members that are present and ready; drops an earlier one.
   *
   * @param version highest reported version; newcomers start a margin above it
   * @param running false for the first membership, in which all start at round 0
   * @param newcomers false to leave out workers that are not part of the membership yet
   */
  Membership propose(MemberRegistry registry, long version, boolean running, boolean newcomers) {
    long first = lockstep && running ? Math.min(version + margin, lastVersion) : 0;
    long restored = oldestRestored(registry);
    List<Member> workers =
        registry.of(Role.WORKER).stream()
            .filter(MemberRecord::ready)
            .filter(a -> newcomers || a.published())
            .map(
                worker ->
                    worker.published() ? asKnown(worker, restored) : asNewcomer(worker, first))
            .toList();
    List<Member> servers =
        registry.readyServers().stream()
            .map(a -> new Member(a.rank(), a.admission().incarnation(), 0))
            .toList();
    next = new Membership(next.epoch() + 1, workers, servers);
    starts.clear();
    held.clear();
    unanswered.clear();
    servers.forEach(server -> unanswered.add(server.rank()));
    pending = true;
    return next;
  }

  /** Takes a server's acceptance, with where newcomers start and which versions the server has. */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    if (isPending(epoch, server)) {
      unanswered.remove(server);
      answer.held().ifPresent(has -> held.put(server, has));
      answer
          .starts()
          .forEach(start -> starts.merge(start.rank(), start, ProposalAnswer.Start::earlier));
    }
  }

  /**
   * Returns the version that all servers must go back to, because they are too far apart: the
   * newest that each of them has kept.
   *
   * @param apart number of rounds that servers may be apart
   * @return empty when they can continue from where they are
   */
  OptionalLong rollbackVersion(int apart) {
    long low = held.values().stream().mapToLong(ProposalAnswer.Held::low).min().orElse(0);
    long high = held.values().stream().mapToLong(ProposalAnswer.Held::high).max().orElse(0);
    if (!lockstep || high - low <= apart) {
      return OptionalLong.empty();
    }
    List<List<Long>> kept = held.values().stream().map(ProposalAnswer.Held::kept).toList();
    return OptionalLong.of(VersionChoice.newestCommon(kept, Long::longValue).orElse(0L));
  }

  /** Makes the next attempt leave twice the room before a newcomer's first round. */
  void doubleMargin() {
    margin = Math.min(2 * margin, LARGEST_MARGIN);
  }

  /** Returns whether this server's answer to this attempt still counts. */
  boolean isPending(int epoch, int server) {
    return pending && epoch == next.epoch() && unanswered.contains(server);
  }

  /**
   * Returns whether an attempt is pending: not all servers have answered, or it is not finished.
   */
  boolean pending() {
    return pending;
  }

  /** Returns the epoch of the last attempt. */
  int epoch() {
    return next.epoch();
  }

  boolean complete() {
    return pending && unanswered.isEmpty();
  }

  /** Returns the ranks of the servers that have not answered. */
  Set<Integer> unanswered() {
    return Set.copyOf(unanswered);
  }

  /** Ends the attempt: newcomers start at the earliest round and step that any server needs. */
  Membership finish(Membership before) {
    pending = false;
    margin = FIRST_MARGIN;
    List<Member> workers =
        next.workers().stream()
            .map(
                member ->
                    before.hasWorker(member.rank(), member.incarnation())
                        ? member
                        : withStart(member))
            .toList();
    next = new Membership(next.epoch(), workers, next.servers());
    return next;
  }

  private Member withStart(Member member) {
    ProposalAnswer.Start start = starts.get(member.rank());
    return start == null || member.rank() >= ranks
        ? member
        : new Member(member.rank(), member.incarnation(), start.round(), start.step());
  }

  private Member asNewcomer(MemberRecord record, long first) {
    long round = record.rank() < ranks ? 0 : first;
    return new Member(record.rank(), record.admission().incarnation(), round);
  }

  private static Member asKnown(MemberRecord record, long restored) {
    return new Member(
        record.rank(),
        record.admission().incarnation(),
        Math.min(record.activeFrom(), restored),
        record.firstStep());
  }

  /**
   * Returns the lowest version of a new replacement server, or {@link Long#MAX_VALUE}. Workers are
   * active from that version on, so that the server closes no round without them.
   */
  private static long oldestRestored(MemberRegistry registry) {
    return registry.readyServers().stream()
        .filter(server -> !server.published() && server.admission().incarnation() > 0)
        .flatMapToLong(server -> server.version().stream())
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
