package io.vertigrad.internal.server;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.membership.ProposalAnswer;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.Future;
import java.util.Optional;

/** One partition with its strategy and the pulls that wait for it. */
final class ServedPartition {

  private final StoredPartition store;
  private final DuplicateWindow window;
  private final UpdateFilter filter;
  private final PendingPulls pulls;

  ServedPartition(
      StoredPartition store,
      ServerStrategyContext context,
      UpdateFilter filter,
      DuplicateWindow window,
      long pullDeadlineMillis,
      boolean lockstep) {
    this.store = store;
    this.window = window;
    this.filter = filter;
    this.pulls = new PendingPulls(context, pullDeadlineMillis, lockstep, store::previous);
  }

  long version() {
    return store.version();
  }

  /** Returns where a worker of this rank goes on at this partition. */
  ProposalAnswer.Start start(int rank, boolean lockstep) {
    boolean contributed = lockstep && window.waitingStep(rank).isPresent();
    long round = lockstep ? store.version() + (contributed ? 1 : 0) : 0;
    return new ProposalAnswer.Start(rank, round, window.nextStep(rank));
  }

  long samples() {
    return store.samples();
  }

  Future<Frame> exchange(GradientPartition update) {
    Future<Frame> answer = filter.exchange(update);
    pulls.release();
    return answer;
  }

  /** Answers pulls after a new version. */
  void stepped() {
    pulls.release();
  }

  /** Lets no update follow this version; updates held back at an earlier one go on. */
  void testAt(long version) {
    filter.testAt(version);
    pulls.release();
  }

  Future<Frame> pull(PullRequest request) {
    return pulls.pull(request);
  }

  void membershipProposed(Membership next) {
    filter.membershipChanged(next);
    pulls.membershipProposed(next);
  }

  void membershipChanged(Membership now) {
    filter.membershipChanged(now);
    pulls.membershipChanged(now);
  }

  void tick(long nowNanos) {
    filter.tick(nowNanos);
    pulls.tick();
  }

  Optional<StragglerReport> heldUp() {
    return filter.heldUp();
  }

  void close(String why) {
    filter.close(why);
    pulls.close(why);
  }

  /** Returns the outcomes of all updates. */
  LedgerSnapshot updates() {
    return filter.ledger().snapshot();
  }

  /** Continues from the counts of another ledger. */
  void countFrom(LedgerSnapshot updates) {
    filter.ledger().restore(updates);
  }

  PartitionSnapshot snapshot() {
    return store.snapshot(window.entries()).with(filter.ledger().snapshot());
  }

  PartitionCopy beginCopy(CopyMemory memory) {
    return store.beginCopy(memory, window.entries(), filter.ledger().snapshot());
  }

  void restore(PartitionSnapshot snapshot) {
    store.restore(snapshot);
    window.restore(snapshot.window());
    filter.ledger().restore(snapshot.ledger());
  }
}
