package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.internal.checkpoint.LedgerEntry;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntConsumer;

/**
 * Counts the outcome of every update of one partition, each (rank, step) once however often it is
 * sent, and the steps that were passed without an update.
 *
 * <p>It is part of the shard's state and of its checkpoints. A shard that goes back to a checkpoint
 * also goes back to its counts, so that {@code applied} always matches the parameters.
 *
 * <p>Bounded: one account per rank that ever sent an update, each with at most {@value
 * #REFUSED_STEPS_LIMIT} refused steps.
 */
final class PartitionLedger {

  /** A worker gives up after fewer refusals in a row. */
  private static final int REFUSED_STEPS_LIMIT = 64;

  private final int ranks;
  private final Map<Integer, Account> accounts = new TreeMap<>();
  private long firstVersion;
  private IntConsumer listener = rank -> {};

  /**
   * Creates an empty ledger.
   *
   * @param ranks number of ranks of the job; the steps of a higher rank count per incarnation
   */
  PartitionLedger(int ranks) {
    this.ranks = ranks;
  }

  /** Counts the outcome of an update, unless its step was counted before. */
  void count(ExchangeId id, Outcome outcome) {
    Account account = account(id);
    if (id.step() >= account.next && outcome != Outcome.DUPLICATE) {
      account.pass(id.step());
      account.count(outcome);
      listener.accept(id.worker());
    }
  }

  /**
   * Records that an update was refused for good. It may still be applied when a replacement repeats
   * the step.
   */
  void recordRefusal(ExchangeId id) {
    Account account = account(id);
    if (id.step() >= account.next && account.refusedSteps.size() < REFUSED_STEPS_LIMIT) {
      account.refusedSteps.add(id.step());
      listener.accept(id.worker());
    }
  }

  /** Starts to count at this version of the partition. */
  void startFrom(long version) {
    firstVersion = version;
    accounts.clear();
  }

  /** Sets the listener, which receives every rank whose counts change from now on. */
  void onChange(IntConsumer listener) {
    this.listener = listener;
  }

  /** Returns the counts of a rank that has some. */
  LedgerEntry entry(int rank) {
    return accounts.get(rank).entry();
  }

  /** Returns the version of the partition before the first counted update. */
  long firstVersion() {
    return firstVersion;
  }

  LedgerSnapshot snapshot() {
    return new LedgerSnapshot(firstVersion, accounts.values().stream().map(Account::entry).toList());
  }

  void restore(LedgerSnapshot snapshot) {
    startFrom(snapshot.from());
    snapshot.entries().forEach(entry -> accounts.put(entry.rank(), new Account(entry)));
  }

  /** Replaces the counts of one rank. */
  void restore(LedgerEntry entry) {
    accounts.put(entry.rank(), new Account(entry));
  }

  private Account account(ExchangeId id) {
    Account account =
        accounts.computeIfAbsent(id.worker(), rank -> new Account(rank, id.incarnation()));
    if (id.worker() >= ranks && id.incarnation() != account.incarnation) {
      account.restart(id.incarnation());
    }
    return account;
  }

  /** The counts of one rank. */
  private static final class Account {

    private final int rank;
    private final TreeSet<Long> refusedSteps = new TreeSet<>();
    private int incarnation;
    private long next;
    private long applied;
    private long late;
    private long tooStale;
    private long refused;
    private long skipped;

    Account(int rank, int incarnation) {
      this.rank = rank;
      this.incarnation = incarnation;
    }

    Account(LedgerEntry entry) {
      this(entry.rank(), entry.incarnation());
      next = entry.next();
      applied = entry.applied();
      late = entry.late();
      tooStale = entry.tooStale();
      refused = entry.refused();
      skipped = entry.skipped();
      refusedSteps.addAll(entry.turnedAway());
    }

    void pass(long step) {
      refusedSteps.remove(step);
      int before = refusedSteps.headSet(step).size();
      refusedSteps.headSet(step).clear();
      refused += before;
      skipped += step - next - before;
      next = step + 1;
    }

    void count(Outcome outcome) {
      switch (outcome) {
        case APPLIED -> applied++;
        case TOO_STALE -> tooStale++;
        default -> late++;
      }
    }

    void restart(int incarnation) {
      this.incarnation = incarnation;
      refused += refusedSteps.size();
      refusedSteps.clear();
      next = 0;
    }

    LedgerEntry entry() {
      return new LedgerEntry(
          rank,
          incarnation,
          next,
          applied,
          late,
          tooStale,
          refused,
          skipped,
          List.copyOf(refusedSteps));
    }
  }
}
