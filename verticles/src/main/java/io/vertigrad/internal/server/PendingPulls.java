package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Pulls of one partition that wait for a version, at most {@value #LIMIT}, each up to a deadline.
 */
final class PendingPulls {

  static final int LIMIT = 8192;

  private final ServerStrategyContext context;
  private final long deadlineMillis;
  private final Map<ExchangeId, Pull> waiting = new LinkedHashMap<>();
  private Membership membership = Membership.NONE;

  private record Pull(PullRequest request, long sinceNanos, Promise<Frame> promise) {}

  PendingPulls(ServerStrategyContext context, long deadlineMillis) {
    this.context = context;
    this.deadlineMillis = deadlineMillis;
  }

  /** Answers now or when the version is there; a retry shares the answer of the first. */
  Future<Frame> pull(PullRequest request) {
    if (isReached(request)) {
      return Future.succeededFuture(answer(request));
    }
    Pull before = waiting.get(request.id());
    if (before != null) {
      return before.promise().future();
    }
    if (waiting.size() >= LIMIT) {
      String full = "partition %d: %d pulls wait already; try again";
      return Future.succeededFuture(
          refusal(request, Reason.UNAVAILABLE, full.formatted(index(), LIMIT)));
    }
    Pull pull = new Pull(request, context.nanoClock().getAsLong(), Promise.promise());
    waiting.put(request.id(), pull);
    return pull.promise().future();
  }

  /** Takes over who begins where. */
  void membershipChanged(Membership now) {
    membership = now;
    release();
  }

  /** Answers whatever waited for the version that is there now. */
  void release() {
    if (!waiting.isEmpty()) {
      take(pull -> isReached(pull.request()))
          .forEach(pull -> pull.promise().complete(answer(pull.request())));
    }
  }

  void tick(long nowNanos) {
    take(pull -> nowNanos - pull.sinceNanos() >= deadlineMillis * 1_000_000)
        .forEach(pull -> pull.promise().complete(overdue(pull.request())));
  }

  void close(String why) {
    take(pull -> true)
        .forEach(pull -> pull.promise().complete(refusal(pull.request(), Reason.UNAVAILABLE, why)));
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

  private Frame overdue(PullRequest request) {
    String message =
        "partition %d: found version %d after %d ms, expected %d; the workers make no progress"
            .formatted(
                index(), context.store().version(), deadlineMillis, request.minimumVersion());
    return refusal(request, Reason.DEADLINE, message);
  }

  private static Refusal refusal(PullRequest request, Reason reason, String message) {
    return new Refusal(request.id(), reason, message);
  }

  private int index() {
    return context.partition().index();
  }

  private List<Pull> take(Predicate<Pull> chosen) {
    List<Pull> taken = new ArrayList<>(waiting.values());
    taken.removeIf(chosen.negate());
    taken.forEach(pull -> waiting.remove(pull.request().id()));
    return taken;
  }
}
