package io.vertigrad.strategies;

import io.vertigrad.strategy.PeerGroup;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Equal groups of workers with consecutive ranks, such as those of one host. The first worker of a
 * group is its leader.
 *
 * @param count number of groups, at least 1
 * @param sums whether a group steps with the sum of its workers' gradients instead of their mean
 */
record WorkerGroups(int count, boolean sums) {

  /** Returns the group that a worker belongs to, seen from it. */
  PeerGroup within(PeerGroup all) {
    int own = group(all, all.position());
    List<Integer> ranks =
        IntStream.range(0, all.size())
            .filter(position -> group(all, position) == own)
            .mapToObj(all::rank)
            .toList();
    return new PeerGroup(all.epoch(), ranks, all.self());
  }

  /** Returns true for the leader of a group. */
  boolean isLeader(PeerGroup all) {
    return leaders(all).contains(all.self());
  }

  /** Returns the leaders of all groups, seen from one of them. */
  PeerGroup between(PeerGroup all) {
    return new PeerGroup(all.epoch(), leaders(all), all.self());
  }

  private List<Integer> leaders(PeerGroup all) {
    List<Integer> leaders = new ArrayList<>();
    for (int position = 0; position < all.size(); position++) {
      if (position == 0 || group(all, position) != group(all, position - 1)) {
        leaders.add(all.rank(position));
      }
    }
    return leaders;
  }

  private int group(PeerGroup all, int position) {
    return position * count / all.size();
  }
}
