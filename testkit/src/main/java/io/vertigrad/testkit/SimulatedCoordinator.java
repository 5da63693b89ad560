package io.vertigrad.testkit;

import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/** Agrees with every shard on the next membership, one attempt at a time, then tells newcomers. */
final class SimulatedCoordinator {

  private final NetworkSimulator world;
  private final Map<Integer, Member> members = new TreeMap<>();
  private final List<Integer> newcomers = new ArrayList<>();
  private Membership published = Membership.NONE;
  private int epoch;
  private int attempt;
  private int answers;
  private long highest;
  private long margin = 1;

  SimulatedCoordinator(NetworkSimulator world) {
    this.world = world;
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

  /** A restarted server knows nobody. */
  void serverRestarted() {
    propose();
  }

  private void propose() {
    attempt++;
    answers = 0;
    highest = -1;
    long first = !world.job().lockstep() || published.epoch() == 0 ? 0 : world.agreedRound(margin);
    newcomers.forEach(
        rank -> members.computeIfPresent(rank, (r, m) -> new Member(r, m.incarnation(), first)));
    Membership next = new Membership(++epoch, List.copyOf(members.values()), List.of());
    int mine = attempt;
    for (int shard = 0; shard < world.shards(); shard++) {
      int index = shard;
      world.network().after(world.network().random(50), () -> ask(index, next, mine));
    }
  }

  private void ask(int shard, Membership next, int mine) {
    if (mine != attempt) {
      return;
    }
    OptionalLong refusal = world.shard(shard).propose(next);
    highest = Math.max(highest, refusal.orElse(-1));
    if (++answers == world.shards()) {
      conclude(next);
    }
  }

  private void conclude(Membership next) {
    if (highest >= 0) {
      margin = 2 * margin;
      propose();
      return;
    }
    published = next;
    margin = 1;
    List<Integer> starting = List.copyOf(newcomers);
    newcomers.clear();
    starting.forEach(rank -> world.startWorker(members.get(rank)));
  }
}
