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

/** The pulls of one partition; those that wait for a later version are in a {@link PullQueue}. */
final class PendingPulls {

  private final ServerStrategyContext context;
  private final long deadlineMillis;
  private final boolean exact;
  private final Supplier<Optional<Tensor>> previous;
  private final PullQueue queue;
  private Membership members = Membership.NONE;
  private Membership agreed = Membership.NONE;

  /**
   * Creates an empty set of pulls.
   *
   * @param deadlineMillis longest wait of a pull
   * @param exact true if workers move in rounds, so that a worker starts at a version that all
   *     partitions have in common
   * @param previous the parameters before the last update, if they are still kept
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

  /** Answers now or when the version is reached. */
  Future<Frame> pull(PullRequest request) {
    return queue.pull(request);
  }

  /** Takes a proposed membership; the first rounds of newcomers are not agreed yet. */
  void membershipProposed(Membership next) {
    members = next;
  }

  /** Takes an agreed membership, with the first round of every member. */
  void membershipChanged(Membership now) {
    members = now;
    agreed = now;
    release();
  }

  /** Answers the pulls that waited for the current version. */
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
   * Returns the agreed first round of the sender, or {@link Long#MAX_VALUE} if this partition does
   * not know it. A server that went back lets a worker start earlier than the version in its
   * request. A worker may learn of an agreement before this server does; then the version in its
   * request counts.
   */
  private long begins(ExchangeId id) {
    return agreed
        .worker(id.worker())
        .filter(member -> member.incarnation() == id.incarnation())
        .map(Membership.Member::activeFrom)
        .orElse(Long.MAX_VALUE);
  }

  /**
   * Answers with the current version, or with the one before. A worker that repeats a step of its
   * predecessor needs exactly the version of that step, and this partition may be one update ahead.
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
