package io.vertigrad.internal.collective;

import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * How far each member of a new group has come, by position, known to all of them.
 *
 * @param entries one per position
 */
public record StateAllGather(List<Entry> entries) {

  private static final int ENTRY_BYTES = 3 * Long.BYTES;
  private static final int ASK = 0;
  private static final int TELL = 1;

  /**
   * One worker's word.
   *
   * @param updates steps taken
   * @param samples applied by all workers, as it counts them
   * @param fresh true when its parameters are the initial ones
   */
  public record Entry(long updates, double samples, boolean fresh) {}

  /** Learns how far all others have come; blocks until all have spoken. */
  public static StateAllGather hold(Peers peers, PeerGroup group, long round, Entry mine) {
    ByteBuffer all =
        LeaderGather.decide(
            peers,
            group,
            new Tag(round, ASK, 0),
            new Tag(round, TELL, 0),
            write(List.of(mine)),
            said -> write(said.stream().flatMap(words -> read(words).stream()).toList()));
    return new StateAllGather(read(all));
  }

  /** Position of the first of those who have come furthest, a fresh one only among fresh ones. */
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

  /** How many are fresh. */
  int newcomers() {
    return (int) entries.stream().filter(Entry::fresh).count();
  }

  boolean allFresh() {
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
