package io.vertigrad.collective;

import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The progress of each member of a new group. All members know all entries.
 *
 * @param entries one per position
 */
public record StateAllGather(List<Entry> entries) {

  private static final int ENTRY_BYTES = 3 * Long.BYTES;
  private static final int VALUE = 0;
  private static final int DECISION = 1;

  /**
   * The progress of one worker.
   *
   * @param updates number of steps taken
   * @param samples number of samples applied by all workers, as this worker counts them
   * @param fresh true when its parameters are the initial ones
   */
  public record Entry(long updates, double samples, boolean fresh) {}

  /**
   * Collects the progress of all members. Blocks until all have sent theirs.
   *
   * @param peers connects this member to the others
   * @param group the members
   * @param round number of the exchange
   * @param mine the progress of this member
   * @return the progress of all, in order of position
   */
  public static StateAllGather gather(Peers peers, PeerGroup group, long round, Entry mine) {
    ByteBuffer all =
        LeaderGather.decide(
            peers,
            group,
            new Tag(round, VALUE, 0),
            new Tag(round, DECISION, 0),
            write(List.of(mine)),
            said -> write(said.stream().flatMap(words -> read(words).stream()).toList()));
    return new StateAllGather(read(all));
  }

  /**
   * Returns the position of the first worker with the most steps. A fresh worker is chosen only if
   * all are fresh.
   *
   * @return a position in the group
   */
  public int furthest() {
    int best = 0;
    for (int i = 1; i < entries.size(); i++) {
      Entry entry = entries.get(i);
      Entry leader = entries.get(best);
      boolean older = leader.fresh() && !entry.fresh();
      if (older || leader.fresh() == entry.fresh() && entry.updates() > leader.updates()) {
        best = i;
      }
    }
    return best;
  }

  /** Returns the number of fresh workers. */
  int newcomers() {
    return (int) entries.stream().filter(Entry::fresh).count();
  }

  /**
   * Returns whether all workers have begun and have taken the same number of steps.
   *
   * @return false if one of them has not, or stands at another step
   */
  public boolean allAtOneVersion() {
    return newcomers() == 0 && entries.stream().mapToLong(Entry::updates).distinct().count() == 1;
  }

  /**
   * Returns whether no worker has begun.
   *
   * @return true if all are fresh
   */
  public boolean allFresh() {
    return newcomers() == entries.size();
  }

  private static ByteBuffer write(List<Entry> entries) {
    ByteBuffer bytes =
        ByteBuffer.allocate(entries.size() * ENTRY_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (Entry entry : entries) {
      bytes.putLong(entry.updates()).putDouble(entry.samples()).putLong(entry.fresh() ? 1 : 0);
    }
    return bytes.flip();
  }

  private static List<Entry> read(ByteBuffer bytes) {
    List<Entry> entries = new ArrayList<>();
    while (bytes.remaining() >= ENTRY_BYTES) {
      entries.add(new Entry(bytes.getLong(), bytes.getDouble(), bytes.getLong() != 0));
    }
    return entries;
  }
}
