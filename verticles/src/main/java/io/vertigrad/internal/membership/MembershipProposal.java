package io.vertigrad.internal.membership;

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
 * The next membership on its way to every server, before anyone else hears of it.
 *
 * <p>Each attempt has an epoch of its own, so that a late answer to an older one says nothing.
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
  private boolean open;
  private long margin = FIRST_MARGIN;

  /**
   * A proposal that has not been made.
   *
   * @param lockstep true where workers move in rounds
   * @param ranks that the job is shared out to, whose updates the servers remember: a newcomer that
   *     plays one goes on where they say
   */
  MembershipProposal(boolean lockstep, int ranks, long lastVersion) {
    this(lockstep, ranks, lastVersion, 0);
  }

  /**
   * The same, with epochs above {@code epoch}.
   *
   * @param epoch above those of the coordinators before
   */
  MembershipProposal(boolean lockstep, int ranks, long lastVersion, int epoch) {
    this.lockstep = lockstep;
    next = new Membership(epoch, List.of(), List.of());
    this.ranks = ranks;
    this.lastVersion = lastVersion;
  }

  /**
   * Starts an attempt with whoever is present and ready; an earlier one is forgotten.
   *
   * @param version highest version heard of; newcomers begin a margin above it
   * @param running false for the very first membership, where everyone begins at round 0
   * @param newcomers false to let workers that are no part yet wait
   */
  Membership propose(MemberRegistry registry, long version, boolean running, boolean newcomers) {
    long first = lockstep && running ? Math.min(version + margin, lastVersion) : 0;
    long restored = oldestRestored(registry);
    List<Member> workers =
        registry.of(Role.WORKER).stream()
            .filter(MemberRecord::ready)
            .filter(a -> newcomers || a.published())
            .map(worker -> worker.published() ? known(worker, restored) : newcomer(worker, first))
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
    open = true;
    return next;
  }

  /** Takes one server's yes, where it says that newcomers go on, and what it has. */
  void accepted(int epoch, int server, ProposalAnswer answer) {
    if (awaits(epoch, server)) {
      unanswered.remove(server);
      answer.held().ifPresent(has -> held.put(server, has));
      answer
          .starts()
          .forEach(start -> starts.merge(start.rank(), start, ProposalAnswer.Start::earlier));
    }
  }

  /**
   * The version that all servers have to go back to, because they are further apart than the round
   * that some of them may have closed and others not yet: the newest that each of them has kept.
   *
   * @return empty when they can go on from where they are
   */
  OptionalLong newestCommon() {
    long low = held.values().stream().mapToLong(ProposalAnswer.Held::low).min().orElse(0);
    long high = held.values().stream().mapToLong(ProposalAnswer.Held::high).max().orElse(0);
    if (!lockstep || high - low <= 1) {
      return OptionalLong.empty();
    }
    return held.values().stream()
        .map(has -> (Set<Long>) new TreeSet<>(has.kept()))
        .reduce(
            (some, others) -> {
              some.retainAll(others);
              return some;
            })
        .flatMap(common -> common.stream().max(Long::compare))
        .map(OptionalLong::of)
        .orElse(OptionalLong.of(0));
  }

  /** The next attempt leaves twice the room. */
  void widen() {
    margin = Math.min(2 * margin, LARGEST_MARGIN);
  }

  /** True while this server's answer to this attempt matters. */
  boolean awaits(int epoch, int server) {
    return open && epoch == next.epoch() && unanswered.contains(server);
  }

  /** True while an attempt has not been answered by all. */
  boolean pending() {
    return open;
  }

  /** Of the last attempt. */
  int epoch() {
    return next.epoch();
  }

  boolean complete() {
    return open && unanswered.isEmpty();
  }

  /** Ranks of servers that have not answered. */
  Set<Integer> unanswered() {
    return Set.copyOf(unanswered);
  }

  /** Ends the attempt: newcomers begin at the earliest round and step that any server needs. */
  Membership close(Membership before) {
    open = false;
    margin = FIRST_MARGIN;
    List<Member> workers =
        next.workers().stream()
            .map(
                member ->
                    before.hasWorker(member.rank(), member.incarnation())
                        ? member
                        : starting(member))
            .toList();
    next = new Membership(next.epoch(), workers, next.servers());
    return next;
  }

  private Member starting(Member member) {
    ProposalAnswer.Start start = starts.get(member.rank());
    return start == null || member.rank() >= ranks
        ? member
        : new Member(member.rank(), member.incarnation(), start.round(), start.step());
  }

  private Member newcomer(MemberRecord record, long first) {
    long round = record.rank() < ranks ? 0 : first;
    return new Member(record.rank(), record.admission().incarnation(), round);
  }

  private static Member known(MemberRecord record, long restored) {
    return new Member(
        record.rank(),
        record.admission().incarnation(),
        Math.min(record.activeFrom(), restored),
        record.firstStep());
  }

  /** A server that fell back behind a worker's first round must not close rounds without it. */
  private static long oldestRestored(MemberRegistry registry) {
    return registry.readyServers().stream()
        .filter(server -> !server.published() && server.admission().incarnation() > 0)
        .flatMapToLong(server -> server.version().stream())
        .min()
        .orElse(Long.MAX_VALUE);
  }
}
