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
    List<LedgerEntry> accounts)
    implements Frame {

  /** Largest number of workers for which one frame has room in both lists, whatever they hold. */
  public static final int MOST_WORKERS =
      (FrameLimits.MAX_PAYLOAD_BYTES - 2 * (Long.BYTES + Integer.BYTES))
          / (Settled.BYTES + LedgerEntry.BYTES + LedgerEntry.MOST_REFUSED_STEPS * Long.BYTES);

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

  static void requireAtMost(String what, int found, int most) {
    if (found > most) {
      throw new IllegalArgumentException(
          "%s has %d entries, expected at most %d".formatted(what, found, most));
    }
  }
}
