package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.internal.exchange.PullQueue;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;

/** Pulls of one partition; what waits for a later version stands in a {@link PullQueue}. */
final class PendingPulls {

  private final ServerStrategyContext context;
  private final long deadlineMillis;
  private final PullQueue queue;
  private Membership membership = Membership.NONE;

  PendingPulls(ServerStrategyContext context, long deadlineMillis) {
    this.context = context;
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

  /** Takes over who begins where. */
  void membershipChanged(Membership now) {
    membership = now;
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

  /** A server that fell back lets a worker begin earlier than it was told when it asked. */
  private long begins(ExchangeId id) {
    return membership
        .worker(id.worker())
        .filter(member -> member.incarnation() == id.incarnation())
        .map(Membership.Member::activeFrom)
        .orElse(Long.MAX_VALUE);
  }

  private Frame answer(PullRequest request) {
    return context.answers().parameters(request.id(), Outcome.PULLED, 0);
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
