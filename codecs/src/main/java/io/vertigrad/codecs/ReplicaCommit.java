package io.vertigrad.codecs;

import java.util.List;
import java.util.Objects;

/**
 * Makes the {@linkplain ReplicaTensor pieces} before it part of a backup's partition: from here on
 * the partition is at this version, and these updates are dealt with.
 *
 * @param id the server: its shard ({@code worker}) and incarnation, the number of the record
 *     ({@code step}) and the partition
 * @param layout hash of the parameter layout
 * @param version of the partition from now on
 * @param samples training samples behind it, all since the start
 * @param countedFrom version of the partition before the first update that {@code accounts} count
 * @param settled updates that were dealt with since the commit before, in any order
 * @param accounts of the workers whose counts changed since the commit before
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

  /** Most workers of which one frame tells both lists, whatever they hold. */
  public static final int MOST_WORKERS =
      (FrameLimits.MAX_PAYLOAD_BYTES - 2 * (Long.BYTES + Integer.BYTES))
          / (Settled.BYTES + Account.BYTES + Account.MOST_TURNED_AWAY * Long.BYTES);

  /**
   * The last update of a worker that was dealt with.
   *
   * @param worker its rank, from 0
   * @param incarnation of the worker that sent it, from 0
   * @param step its step counter, from 0
   */
  public record Settled(int worker, int incarnation, long step) {

    static final int BYTES = 2 * Integer.BYTES + Long.BYTES;

    /** Refuses numbers that no frame can carry. */
    public Settled {
      FrameLimits.requireAtLeast("worker", worker, 0);
      FrameLimits.requireAtLeast("incarnation", incarnation, 0);
      FrameLimits.requireAtLeast("step", step, 0);
    }
  }

  /**
   * What became of one worker's updates of the partition, all since {@code countedFrom}.
   *
   * @param worker its rank, from 0
   * @param incarnation of the worker that sent the last one, from 0
   * @param next the first step that was not dealt with
   * @param applied updates that are in the parameters
   * @param late updates that came after their round, or after the last version
   * @param tooStale updates older than the strategy's bound
   * @param refused updates turned away for good, whose step was passed
   * @param skipped steps that were passed without an update
   * @param turnedAway steps from {@code next} on whose updates were turned away for good
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

    /** Most steps in {@code turnedAway}. */
    public static final int MOST_TURNED_AWAY = 64;

    static final int BYTES = 3 * Integer.BYTES + 6 * Long.BYTES;

    /** Refuses numbers that no frame can carry. */
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

  /** Refuses numbers that no frame can carry. */
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
