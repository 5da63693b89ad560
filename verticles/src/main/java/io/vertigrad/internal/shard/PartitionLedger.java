package io.vertigrad.internal.shard;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.membership.RankUpdates;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Knows the last step of each rank that one partition has processed, so that a repeated update is
 * recognised, and counts the outcome of every update: each (rank, step) once however often it is
 * sent, and the steps that were passed without an update.
 *
 * <p>The job's configured ranks are permanent: a replacement repeats its predecessor's step with
 * the same batch. Their updates are identified by rank and step, whatever the incarnation. Updates
 * of other ranks are identified by incarnation, too.
 *
 * <p>It is part of the shard's state and of its checkpoints. A shard that goes back to a checkpoint
 * also goes back to its counts, so that {@code applied} always matches the parameters.
 *
 * <p>Bounded: one entry per rank that ever sent an update, each with at most {@value
 * LedgerSnapshot.Entry#MOST_REFUSED_STEPS} refused steps; a worker gives up after fewer refusals in
 * a row.
 */
public class PartitionLedger {

  private final int ranks;
  private final Map<Integer, LedgerSnapshot.Entry> entries = new TreeMap<>();
  private long firstVersion;

  /**
   * Creates an empty ledger.
   *
   * @param ranks number of ranks of the job; the steps of a higher rank count per incarnation
   */
  public PartitionLedger(int ranks) {
    this.ranks = ranks;
  }

  /** Returns true if this update or a later one of its worker has been processed. */
  public boolean isSettled(ExchangeId id) {
    LedgerSnapshot.Entry last = entries.get(id.worker());
    return last != null && isSameWorker(id, last) && id.step() < last.next();
  }

  /** Returns the first step of a rank that has not been processed. */
  final long nextStep(int rank) {
    LedgerSnapshot.Entry last = entries.get(rank);
    return last == null ? 0 : last.next();
  }

  /** Returns the first step of each rank that has not been processed, for ranks that sent one. */
  final Map<Integer, Long> nextSteps() {
    return entries.values().stream()
        .collect(Collectors.toMap(LedgerSnapshot.Entry::rank, LedgerSnapshot.Entry::next));
  }

  private boolean isSameWorker(ExchangeId id, LedgerSnapshot.Entry last) {
    return id.worker() < ranks || id.incarnation() == last.incarnation();
  }

  /** Counts the outcome of an update, unless its step was counted before. */
  final void count(ExchangeId id, Outcome outcome) {
    LedgerSnapshot.Entry entry = entryOf(id);
    if (id.step() >= entry.next() && outcome != Outcome.DUPLICATE) {
      entries.put(entry.rank(), passed(entry, id.step(), outcome));
    }
  }

  private static LedgerSnapshot.Entry passed(
      LedgerSnapshot.Entry entry, long step, Outcome outcome) {
    List<Long> later = entry.refusedSteps().stream().filter(refused -> refused > step).toList();
    long refused = entry.refusedSteps().stream().filter(earlier -> earlier < step).count();
    long skipped = step - entry.next() - refused;
    UpdateCounts counts = entry.counts().plus(UpdateCounts.of(outcome)).plus(refused, skipped);
    return new LedgerSnapshot.Entry(entry.rank(), entry.incarnation(), step + 1, counts, later);
  }

  /**
   * Records that an update was refused for good. It may still be applied when a replacement repeats
   * the step.
   */
  final void recordRefusal(ExchangeId id) {
    LedgerSnapshot.Entry entry = entryOf(id);
    List<Long> steps = entry.refusedSteps();
    if (id.step() >= entry.next() && steps.size() < LedgerSnapshot.Entry.MOST_REFUSED_STEPS) {
      List<Long> all =
          Stream.concat(steps.stream(), Stream.of(id.step())).distinct().sorted().toList();
      entries.put(
          entry.rank(),
          new LedgerSnapshot.Entry(
              entry.rank(), entry.incarnation(), entry.next(), entry.counts(), all));
    }
  }

  /** Returns the entry of the sender; creates it first, or starts it again for an incarnation. */
  private LedgerSnapshot.Entry entryOf(ExchangeId id) {
    LedgerSnapshot.Entry entry = entries.get(id.worker());
    if (entry == null) {
      entry =
          new LedgerSnapshot.Entry(id.worker(), id.incarnation(), 0, UpdateCounts.NONE, List.of());
      entries.put(id.worker(), entry);
    } else if (!isSameWorker(id, entry)) {
      UpdateCounts counts = entry.counts().plus(entry.refusedSteps().size(), 0);
      entry = new LedgerSnapshot.Entry(id.worker(), id.incarnation(), 0, counts, List.of());
      entries.put(id.worker(), entry);
    }
    return entry;
  }

  /** Returns the version of the partition before the first counted update. */
  final long firstVersion() {
    return firstVersion;
  }

  /** Returns how many updates of all ranks are in the parameters. */
  final long applied() {
    return entries.values().stream().mapToLong(entry -> entry.counts().applied()).sum();
  }

  /**
   * Adds the counts of this partition to those of its shard.
   *
   * @param sums counts by rank
   * @param open true if the partition has not reached the last version
   */
  final void addTo(Map<Integer, RankUpdates> sums, boolean open) {
    entries.keySet().forEach(rank -> sums.computeIfAbsent(rank, RankUpdates::new));
    sums.replaceAll(
        (rank, sum) -> {
          LedgerSnapshot.Entry entry = entries.get(rank);
          UpdateCounts counts =
              entry == null
                  ? UpdateCounts.NONE
                  : entry.counts().plus(entry.refusedSteps().size(), 0);
          long steps = entry == null ? 0 : entry.next() + entry.refusedSteps().size();
          return open ? sum.plusOpen(counts, steps) : sum.plus(counts);
        });
  }

  /** Returns the counts of all ranks. */
  final LedgerSnapshot snapshot() {
    return new LedgerSnapshot(firstVersion, List.copyOf(entries.values()));
  }

  /** Continues from the counts of another ledger. */
  final void restore(LedgerSnapshot snapshot) {
    firstVersion = snapshot.from();
    entries.clear();
    snapshot.entries().forEach(entry -> entries.put(entry.rank(), entry));
  }
}
