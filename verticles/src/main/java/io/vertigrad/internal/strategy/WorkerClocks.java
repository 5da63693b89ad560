package io.vertigrad.internal.strategy;

import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Counts the applied updates of each worker. A newcomer starts at the count of the slowest worker.
 */
final class WorkerClocks {

  private final Map<Integer, Clock> clocks = new TreeMap<>();

  private record Clock(Member member, long steps) {}

  WorkerClocks(Membership membership) {
    membershipChanged(membership);
  }

  void membershipChanged(Membership now) {
    clocks
        .values()
        .removeIf(clock -> !now.hasWorker(clock.member().rank(), clock.member().incarnation()));
    long start = slowest();
    now.workers().forEach(m -> clocks.putIfAbsent(m.rank(), new Clock(m, start)));
  }

  void advance(int rank) {
    clocks.computeIfPresent(rank, (r, clock) -> new Clock(clock.member(), clock.steps() + 1));
  }

  long of(int rank) {
    Clock clock = clocks.get(rank);
    return clock == null ? slowest() : clock.steps();
  }

  /** Returns the clock of the slowest worker; 0 if there is no worker. */
  long slowest() {
    return clocks.values().stream().mapToLong(Clock::steps).min().orElse(0);
  }

  List<Integer> slowestRanks() {
    return ofSlowest().map(Member::rank).toList();
  }

  String describeSlowest() {
    return ofSlowest()
        .map(m -> "worker %d (incarnation %d)".formatted(m.rank(), m.incarnation()))
        .collect(Collectors.joining(", ", "", " at step " + slowest()));
  }

  private Stream<Member> ofSlowest() {
    long slowest = slowest();
    return clocks.values().stream().filter(clock -> clock.steps() == slowest).map(Clock::member);
  }
}
