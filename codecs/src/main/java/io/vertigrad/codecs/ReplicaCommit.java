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
 * @param settled updates that were dealt with since the commit before, in any order
 */
public record ReplicaCommit(
    ExchangeId id, long layout, long version, long samples, List<Settled> settled)
    implements Frame {

  /** Most updates that one frame can name. */
  public static final int MOST_SETTLED =
      (FrameLimits.MAX_PAYLOAD_BYTES - Long.BYTES - Integer.BYTES) / Settled.BYTES;

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

  /** Refuses numbers that no frame can carry. */
  public ReplicaCommit {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("version", version, 0);
    FrameLimits.requireAtLeast("samples", samples, 0);
    settled = List.copyOf(settled);
    if (settled.size() > MOST_SETTLED) {
      throw new IllegalArgumentException(
          "settled has %d entries, expected at most %d".formatted(settled.size(), MOST_SETTLED));
    }
  }
}
