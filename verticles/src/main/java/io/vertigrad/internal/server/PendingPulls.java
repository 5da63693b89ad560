package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Supplier;

/** Pulls of one partition; what waits for a later version stands in a {@link PullQueue}. */
final class PendingPulls {

  private final ServerStrategyContext context;
  private final long deadlineMillis;
  private final boolean exact;
  private final Supplier<Optional<Tensor>> previous;
  private final PullQueue queue;
  private Membership members = Membership.NONE;
  private Membership agreed = Membership.NONE;

  /**
   * No pulls yet.
   *
   * @param deadlineMillis how long one waits at most
   * @param exact true where workers move in rounds, so that one begins at a version that all
   *     partitions have in common
   * @param previous the parameters before the last update, if they are still there
   */
  PendingPulls(
      ServerStrategyContext context,
      long deadlineMillis,
      boolean exact,
      Supplier<Optional<Tensor>> previous) {
    this.context = context;
    this.exact = exact;
    this.previous = previous;
    this.deadlineMillis = deadlineMillis;
    this.queue =
        new PullQueue(
            deadlineMillis,
            context.nanoClock(),
            new PullQueue.Source(this::isReached, this::answer, this::overdue));
  }

  /** Answers now or when the version is there. */
  Future<Frame> pull(PullRequest request) {
    return queue.pull(request);
  }

  /** Takes over who takes part; where newcomers begin is not agreed yet. */
  void membershipProposed(Membership next) {
    members = next;
  }

  /** Takes over who takes part and who begins where. */
  void membershipChanged(Membership now) {
    members = now;
    agreed = now;
    release();
  }

  /** Answers whatever waited for the version that is there now. */
  void release() {
    queue.release();
  }

  void tick() {
    queue.tick();
  }

  void close(String why) {
    queue.close(why);
  }

  private boolean isReached(PullRequest request) {
    long wanted = Math.min(request.minimumVersion(), context.lastVersion());
    return context.store().version() >= Math.min(wanted, begins(request.id()));
  }

  /**
   * A server that fell back lets a worker begin earlier than it was told when it asked. A worker
   * may hear what was agreed before this server does: then its own word counts.
   */
  private long begins(ExchangeId id) {
    return agreed
        .worker(id.worker())
        .filter(member -> member.incarnation() == id.incarnation())
        .map(Membership.Member::activeFrom)
        .orElse(Long.MAX_VALUE);
  }

  /**
   * A worker that repeats a step of its predecessor's needs the very version of it, which a
   * partition may have left behind by one update.
   */
  private Frame answer(PullRequest request) {
    long wanted = Math.min(request.minimumVersion(), begins(request.id()));
    boolean isBehind = exact && wanted == context.store().version() - 1;
    Optional<Tensor> there = isBehind && isWorker(request.id()) ? previous.get() : Optional.empty();
    return there.isPresent()
        ? context.answers().parameters(request.id(), wanted, there.get())
        : context.answers().parameters(request.id(), Outcome.PULLED, 0);
  }

  private boolean isWorker(ExchangeId id) {
    return members.hasWorker(id.worker(), id.incarnation());
  }

  private String overdue(PullRequest request) {
    return "partition %d: found version %d after %d ms, expected %d; the workers make no progress"
        .formatted(
            context.partition().index(),
            context.store().version(),
            deadlineMillis,
            request.minimumVersion());
  }
}
