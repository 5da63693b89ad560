package io.vertigrad.internal.backup;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.ReplicaCommit;
import io.vertigrad.codecs.ReplicaCommit.Settled;
import io.vertigrad.codecs.ReplicaTensor;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.exchange.DuplicateWindow.Entry;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.StoredPartition;
import java.util.Iterator;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * The backup of one shard. Takes the records of a {@link ShardReplication} and steps its own
 * optimizer with the same gradients, so that it holds the same bits.
 *
 * <p>It never loses what it has acknowledged: pieces count only once their commit has arrived, and
 * records arrive in order without a gap. It refuses records of a server whose incarnation is lower
 * than another one it has seen. It refuses all records once it was {@linkplain #close closed} for
 * its promotion. A plain object of one thread. Memory: the store, and one gradient of each
 * partition.
 */
public final class ShardBackup {

  private static final int NO_PRIMARY = -1;

  private final long job;
  private final ParameterStore store;
  private final int ranks;
  private final boolean lockstep;
  private final SortedMap<Integer, Copy> partitions = new TreeMap<>();
  private int primaryIncarnation = NO_PRIMARY;
  private long nextRecord;
  private String closeReason;
  private IntConsumer listener = incarnation -> {};

  /**
   * Creates a backup without a copy.
   *
   * @param job hash of the job's name
   * @param store of the shard; its contents are overwritten
   * @param ranks number of ranks of the job
   * @param lockstep true if workers move in rounds
   */
  public ShardBackup(long job, ParameterStore store, int ranks, boolean lockstep) {
    this.job = job;
    this.store = store;
    this.ranks = ranks;
    this.lockstep = lockstep;
    store
        .partitions()
        .forEach(stored -> partitions.put(stored.partition().index(), new Copy(stored)));
  }

  /**
   * Takes a record.
   *
   * @return null when the record was taken, otherwise the refusal
   */
  Frame handle(Frame frame) {
    if (frame instanceof ReplicaTensor piece) {
      Refusal refusal = refusal(piece.id(), piece.layout());
      return refusal != null ? refusal : partitions.get(piece.id().partition()).apply(piece);
    }
    if (frame instanceof ReplicaCommit commit) {
      Refusal refusal = refusal(commit.id(), commit.layout());
      return refusal != null ? refusal : partitions.get(commit.id().partition()).apply(commit);
    }
    return frame instanceof Malformed
        ? frame
        : refused(
            new ExchangeId(0, -1, 0, 0, 0, 0),
            Reason.PROTOCOL,
            "expected a record, found " + frame);
  }

  /** Sets the listener, which receives the incarnation of every server whose copy begins. */
  void onPrimary(IntConsumer listener) {
    this.listener = listener;
  }

  /** Returns whether every partition has a copy. */
  public boolean isComplete() {
    return primaryIncarnation != NO_PRIMARY
        && partitions.values().stream().allMatch(copy -> copy.complete);
  }

  /** Returns the version that every partition has reached; 0 without partitions. */
  public long version() {
    return store.partitions().stream().mapToLong(StoredPartition::version).min().orElse(0);
  }

  /** Stops taking records; its current state is the one to continue with. */
  void close(String reason) {
    closeReason = reason;
  }

  /** Returns the parameters; from {@link #close} on, only the caller uses them. */
  public ParameterStore store() {
    return store;
  }

  /** Supplies the duplicate windows, one partition after the other, in the store's order. */
  public Supplier<DuplicateWindow> windows() {
    Iterator<DuplicateWindow> each =
        partitions.values().stream().map(copy -> copy.window).toList().iterator();
    return each::next;
  }

  /** Returns the outcomes of all updates of a partition. */
  public LedgerSnapshot updates(int partition) {
    return partitions.get(partition).ledger.snapshot();
  }

  private Refusal refusal(ExchangeId id, long layout) {
    if (closeReason != null) {
      return refused(id, Reason.STALE_INCARNATION, closeReason);
    }
    if (id.job() != job
        || id.worker() != store.shard()
        || layout != store.layout()
        || !partitions.containsKey(id.partition())) {
      return refused(
          id,
          Reason.WRONG_LAYOUT,
          "found partition %d of shard %d, layout %016x; expected one of %s of shard %d, layout %016x"
              .formatted(
                  id.partition(),
                  id.worker(),
                  layout,
                  partitions.keySet(),
                  store.shard(),
                  store.layout()));
    }
    if (id.incarnation() < primaryIncarnation) {
      return refused(
          id,
          Reason.STALE_INCARNATION,
          "found a server of incarnation %d after one of %d"
              .formatted(id.incarnation(), primaryIncarnation));
    }
    if (id.step() == 0) {
      primaryIncarnation = id.incarnation();
      nextRecord = 0;
      partitions.values().forEach(Copy::reset);
      listener.accept(primaryIncarnation);
    }
    if (id.incarnation() != primaryIncarnation || id.step() != nextRecord) {
      return refused(
          id,
          Reason.PROTOCOL,
          "found record %d of incarnation %d, expected record %d of incarnation %d"
              .formatted(id.step(), id.incarnation(), nextRecord, primaryIncarnation));
    }
    nextRecord++;
    return null;
  }

  private Refusal refused(ExchangeId id, Reason reason, String message) {
    return new Refusal(id, reason, "backup of shard %d: %s".formatted(store.shard(), message));
  }

  /** One partition, and the pieces that wait for their commit. */
  private final class Copy {

    private final StoredPartition stored;
    private DuplicateWindow window = new DuplicateWindow(ranks);
    private float[] gradient;
    private boolean stepped;
    private float[] parameters;
    private float[] state;
    private PartitionLedger ledger = new PartitionLedger(ranks);
    private boolean complete;

    Copy(StoredPartition stored) {
      this.stored = stored;
    }

    void reset() {
      window = new DuplicateWindow(ranks);
      ledger = new PartitionLedger(ranks);
      stepped = false;
      complete = false;
      parameters = new float[stored.length()];
      state = new float[stored.stateLength()];
    }

    Frame apply(ReplicaTensor piece) {
      boolean step = piece.part() == ReplicaTensor.Part.GRADIENT;
      float[] into = into(piece.part());
      long end = piece.firstElement() + piece.tensor().length();
      boolean misplaced =
          step ? !complete || stepped || piece.version() != stored.version() : complete;
      if (misplaced || into == null || end > into.length) {
        return refused(
            piece.id(),
            Reason.PROTOCOL,
            "found elements %d to %d of %s at version %d, expected others; at version %d"
                .formatted(
                    piece.firstElement(), end, piece.part(), piece.version(), stored.version()));
      }
      piece.tensor().copyTo(into, (int) piece.firstElement());
      stepped = step;
      return null;
    }

    private float[] into(ReplicaTensor.Part part) {
      return switch (part) {
        case PARAMETERS -> parameters;
        case STATE -> state;
        case GRADIENT -> {
          gradient = gradient == null ? new float[stored.length()] : gradient;
          yield gradient;
        }
      };
    }

    Frame apply(ReplicaCommit commit) {
      if (!complete) {
        stored.copy(snapshot(commit));
        ledger.startFrom(commit.countedFrom());
        complete = true;
        parameters = null;
        state = null;
      } else if (stepped) {
        step(commit.samples());
      }
      if (commit.version() > stored.version()) {
        stored.skipTo(commit.version());
      }
      for (Settled entry : commit.settled()) {
        window.settle(new ExchangeId(job, entry.worker(), entry.incarnation(), 0, entry.step(), 0));
      }
      commit.accounts().forEach(ledger::restore);
      return commit.version() == stored.version()
          ? null
          : refused(
              commit.id(),
              Reason.PROTOCOL,
              "found version %d, expected %d".formatted(commit.version(), stored.version()));
    }

    private void step(long samples) {
      if (lockstep) {
        // Keep the version before, for a worker that repeats a step from that version.
        stored.keepVersion();
      }
      stepped = false;
      stored.apply(gradient, 1f, samples - stored.samples());
    }

    private PartitionSnapshot snapshot(ReplicaCommit commit) {
      List<Entry> none = List.of();
      return new PartitionSnapshot(
          stored.partition().index(),
          stored.partition().first(),
          commit.version(),
          commit.samples(),
          parameters,
          state,
          none);
    }
  }
}
