package io.vertigrad.testkit;

import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Agrees with every shard on the next membership, one attempt at a time, then starts the newcomers.
 */
final class SimulatedCoordinator {

  private final NetworkSimulator simulator;
  private final Map<Integer, Member> members = new TreeMap<>();
  private final List<Integer> newcomers = new ArrayList<>();
  private Membership published = Membership.NONE;
  private int epoch;
  private int attempt;
  private int answers;
  private boolean serversReturned;
  private long lowest;
  private long highest;
  private final Map<Integer, ProposalAnswer.Start> starts = new TreeMap<>();

  SimulatedCoordinator(NetworkSimulator simulator) {
    this.simulator = simulator;
  }

  int epoch() {
    return published.epoch();
  }

  void start(int workers) {
    for (int rank = 0; rank < workers; rank++) {
      join(rank, 0);
    }
  }

  void join(int rank, int incarnation) {
    members.put(rank, new Member(rank, incarnation, 0));
    newcomers.add(rank);
    propose();
  }

  void leave(Member member) {
    Member now = members.get(member.rank());
    if (now != null && now.incarnation() == member.incarnation()) {
      members.remove(member.rank());
      newcomers.remove((Integer) member.rank());
      propose();
    }
  }

  /** Returns the incarnation of a rank that is or will be a member; -1 if there is none. */
  int incarnation(int rank) {
    Member member = members.get(rank);
    return member == null ? -1 : member.incarnation();
  }

  /**
   * Handles the restart of a server: every worker starts again at the round that the server needs.
   * All earlier members are removed, whether they are dead or only silent.
   */
  void serverRestarted(List<Member> again) {
    serversReturned = true;
    members.keySet().retainAll(newcomers);
    for (Member member : again) {
      members.put(member.rank(), member);
      newcomers.add(member.rank());
    }
    propose();
  }

  private void propose() {
    attempt++;
    answers = 0;
    lowest = Long.MAX_VALUE;
    highest = 0;
    starts.clear();
    Membership next = new Membership(++epoch, List.copyOf(members.values()), List.of());
    int mine = attempt;
    for (int shard = 0; shard < simulator.shards(); shard++) {
      int index = shard;
      simulator.network().after(simulator.network().random(50), () -> ask(index, next, mine));
    }
  }

  private void ask(int shard, Membership next, int mine) {
    if (mine != attempt) {
      return;
    }
    ProposalAnswer answer = simulator.shard(shard).internal().propose(next);
    answer.starts().forEach(s -> starts.merge(s.rank(), s, ProposalAnswer.Start::earlier));
    lowest = Math.min(lowest, simulator.shard(shard).internal().version());
    highest = Math.max(highest, simulator.shard(shard).internal().highestVersion());
    if (++answers < simulator.shards()) {
      return;
    }
    boolean rounds = simulator.shard(shard).internal().movesInRounds();
    int apart = simulator.job().sumsPartitions() ? 0 : 1;
    if (serversReturned && rounds && highest - lowest > apart) {
      simulator.restoreAllServers();
    } else {
      conclude(next);
    }
  }

  private void conclude(Membership next) {
    serversReturned = false;
    List<Integer> starting = List.copyOf(newcomers);
    newcomers.clear();
    starting.forEach(
        rank -> members.computeIfPresent(rank, (r, m) -> starting(m, starts.get(rank))));
    published = new Membership(next.epoch(), List.copyOf(members.values()), List.of());
    for (int shard = 0; shard < simulator.shards(); shard++) {
      int index = shard;
      Membership now = published;
      simulator
          .network()
          .after(
              simulator.network().random(50), () -> simulator.shard(index).membershipChanged(now));
    }
    starting.forEach(rank -> simulator.startWorker(members.get(rank)));
  }

  private static Member starting(Member member, ProposalAnswer.Start start) {
    return new Member(member.rank(), member.incarnation(), start.round(), start.step());
  }
}
