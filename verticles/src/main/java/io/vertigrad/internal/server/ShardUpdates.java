package io.vertigrad.internal.server;

import io.vertigrad.internal.checkpoint.LedgerEntry;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.membership.RankUpdates;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Sums the outcomes of each rank's updates over the partitions of a shard. */
final class ShardUpdates {

  private final long lastVersion;
  private final boolean lockstep;
  private final Map<Integer, Sum> sums = new TreeMap<>();
  private long unexplained;

  private static final class Sum {
    private final Map<Long, Integer> open = new TreeMap<>();
    private long applied;
    private long late;
    private long tooStale;
    private long refused;
    private long skipped;
  }

  /**
   * Creates an empty sum.
   *
   * @param ranks number of ranks of the job; each of them is reported, whether it sent anything or
   *     not
   * @param lastVersion version at which a partition takes no more updates
   * @param lockstep true if a round of updates is one step of the optimizer
   */
  ShardUpdates(int ranks, long lastVersion, boolean lockstep) {
    this.lastVersion = lastVersion;
    this.lockstep = lockstep;
    for (int rank = 0; rank < ranks; rank++) {
      sums.put(rank, new Sum());
    }
  }

  /** Adds a partition that is at this version. */
  void add(long version, LedgerSnapshot partition) {
    Map<Integer, LedgerEntry> entries = new TreeMap<>();
    partition.entries().forEach(entry -> entries.put(entry.rank(), entry));
    entries.keySet().forEach(rank -> sums.computeIfAbsent(rank, some -> new Sum()));
    long applied = 0;
    for (Map.Entry<Integer, Sum> rank : sums.entrySet()) {
      Sum sum = rank.getValue();
      LedgerEntry entry = entries.get(rank.getKey());
      if (entry != null) {
        sum.applied += entry.applied();
        sum.late += entry.late();
        sum.tooStale += entry.tooStale();
        sum.refused += entry.refused() + entry.turnedAway().size();
        sum.skipped += entry.skipped();
        applied += entry.applied();
      }
      if (version < lastVersion) {
        long steps = entry == null ? 0 : entry.next() + entry.turnedAway().size();
        sum.open.merge(steps, 1, Integer::sum);
      }
    }
    unexplained += lockstep ? 0 : Math.max(0, version - partition.from() - applied);
  }

  List<RankUpdates> byRank() {
    List<RankUpdates> all = new ArrayList<>();
    sums.forEach(
        (rank, sum) ->
            all.add(
                new RankUpdates(
                    rank,
                    sum.applied,
                    sum.late,
                    sum.tooStale,
                    sum.refused,
                    sum.skipped,
                    all.isEmpty() ? unexplained : 0,
                    sum.open)));
    return all;
  }
}
