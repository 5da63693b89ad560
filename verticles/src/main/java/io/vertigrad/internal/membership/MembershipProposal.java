package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.List;
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
  private final long lastVersion;
  private final Set<Integer> unanswered = new TreeSet<>();
  private Membership next = Membership.NONE;
  private boolean open;
  private long margin = FIRST_MARGIN;

  MembershipProposal(boolean lockstep, long lastVersion) {
    this.lockstep = lockstep;
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
            .map(a -> member(a, a.published() ? Math.min(a.activeFrom(), restored) : first))
            .toList();
    List<Member> servers =
        registry.readyServers().stream().map(server -> member(server, 0)).toList();
    next = new Membership(next.epoch() + 1, workers, servers);
    unanswered.clear();
    servers.forEach(server -> unanswered.add(server.rank()));
    open = true;
    return next;
  }

  /** Takes one server's yes. */
  void accepted(int epoch, int server) {
    if (awaits(epoch, server)) {
      unanswered.remove(server);
    }
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

  /** Ends the attempt. */
  Membership close() {
    open = false;
    margin = FIRST_MARGIN;
    return next;
  }

  private static Member member(MemberRecord record, long activeFrom) {
    return new Member(record.rank(), record.admission().incarnation(), activeFrom);
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
