package io.vertigrad.codecs;

import java.util.List;
import java.util.Objects;

/**
 * Commits the {@linkplain ReplicaTensor pieces} before it to a backup's partition. The partition
 * then has this version, and these updates count as processed.
 *
 * @param id the server: its shard ({@code worker}) and incarnation, the number of the record
 *     ({@code step}) and the partition
 * @param layout hash of the parameter layout
 * @param version version of the partition after the commit
 * @param samples number of training samples in that version, since the start of the job
 * @param countedFrom version of the partition before the first update that {@code accounts} count
 * @param settled updates that were processed since the previous commit, in any order
 * @param accounts counts of the workers whose counts changed since the previous commit
 */
public record ReplicaCommit(
    ExchangeId id,
    long layout,
    long version,
    long samples,
    long countedFrom,
    List<Settled> settled,
    List<Account> accounts)
    implements Frame {

  /** Largest number of workers for which one frame has room in both lists, whatever they hold. */
  public static final int MOST_WORKERS =
      (FrameLimits.MAX_PAYLOAD_BYTES - 2 * (Long.BYTES + Integer.BYTES))
          / (Settled.BYTES + Account.BYTES + Account.MOST_TURNED_AWAY * Long.BYTES);

  /**
   * The last processed update of a worker.
   *
   * @param worker rank of the worker, from 0
   * @param incarnation of the worker that sent the update, from 0
   * @param step the worker's step counter, from 0
   */
  public record Settled(int worker, int incarnation, long step) {

    static final int BYTES = 2 * Integer.BYTES + Long.BYTES;

    /** Checks that a frame can carry the numbers. */
    public Settled {
      FrameLimits.requireAtLeast("worker", worker, 0);
      FrameLimits.requireAtLeast("incarnation", incarnation, 0);
      FrameLimits.requireAtLeast("step", step, 0);
    }
  }

  /**
   * The outcomes of one worker's updates of the partition since {@code countedFrom}.
   *
   * @param worker rank of the worker, from 0
   * @param incarnation of the worker that sent the last update, from 0
   * @param next the first step that was not processed
   * @param applied number of updates in the parameters
   * @param late number of updates that arrived after their round, or after the last version
   * @param tooStale number of updates older than the strategy's bound
   * @param refused number of updates that were rejected for good and whose step is below {@code
   *     next}
   * @param skipped number of steps below {@code next} without an update
   * @param turnedAway steps from {@code next} on whose updates were rejected for good
   */
  public record Account(
      int worker,
      int incarnation,
      long next,
      long applied,
      long late,
      long tooStale,
      long refused,
      long skipped,
      List<Long> turnedAway) {

    /** Largest number of steps in {@code turnedAway}. */
    public static final int MOST_TURNED_AWAY = 64;

    static final int BYTES = 3 * Integer.BYTES + 6 * Long.BYTES;

    /** Checks that a frame can carry the numbers. */
    public Account {
      FrameLimits.requireAtLeast("worker", worker, 0);
      FrameLimits.requireAtLeast("incarnation", incarnation, 0);
      long least = Math.min(Math.min(next, applied), Math.min(late, tooStale));
      FrameLimits.requireAtLeast("a count", Math.min(least, Math.min(refused, skipped)), 0);
      turnedAway = List.copyOf(turnedAway);
      requireAtMost("turnedAway", turnedAway.size(), MOST_TURNED_AWAY);
      turnedAway.forEach(step -> FrameLimits.requireAtLeast("turnedAway", step, 0));
    }
  }

  /** Checks that a frame can carry the numbers. */
  public ReplicaCommit {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("version", version, 0);
    FrameLimits.requireAtLeast("samples", samples, 0);
    FrameLimits.requireAtLeast("countedFrom", countedFrom, 0);
    settled = List.copyOf(settled);
    accounts = List.copyOf(accounts);
    requireAtMost("settled", settled.size(), MOST_WORKERS);
    requireAtMost("accounts", accounts.size(), MOST_WORKERS);
  }

  private static void requireAtMost(String what, int found, int most) {
    if (found > most) {
      throw new IllegalArgumentException(
          "%s has %d entries, expected at most %d".formatted(what, found, most));
    }
  }
}
