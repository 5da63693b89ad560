package io.vertigrad.verticles.strategy.central;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.compute.Block;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.Membership;
import io.vertigrad.verticles.strategy.Membership.Member;
import io.vertigrad.verticles.strategy.StrategyContext;
import io.vertigrad.verticles.strategy.central.SyncGatherConfig.Reduction;
import io.vertx.core.Future;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Waits for every active worker, or the first {@code quorum} of them, takes one step with the sum
 * or mean of their gradients and answers all of them.
 *
 * <p>{@code p <- step(p, sum_i g_i)} or {@code p <- step(p, sum_i n_i g_i / sum_i n_i)}, always in
 * rank order, so that a run repeats bit for bit whatever the order of arrival. A round is the
 * partition's version. Statistics are always averaged.
 *
 * <p>Memory: one array for the sum, and the gradients that arrived before a lower rank's (with a
 * quorum: all of the round); these are unanswered, so each worker's window bounds them.
 *
 * <p>A worker that leaves is no longer waited for. Its gradient of the open round stays if it was
 * summed already and is dropped if not; when nobody is left the round is dropped, and rounds that
 * nobody takes part in are passed over.
 */
final class SyncGather implements ExchangeStrategy {

  private final SyncGatherConfig config;
  private final StrategyContext context;
  private final GatherRound round;
  private final TreeMap<Integer, Waiting> waiting = new TreeMap<>();
  private Membership membership;

  SyncGather(SyncGatherConfig config, StrategyContext context) {
    this.config = config;
    this.context = context;
    this.membership = context.membership();
    boolean mean =
        config.reduction() == Reduction.MEAN || context.partition().kind() == Block.Kind.STATISTIC;
    this.round = new GatherRound(mean, context.partition().length());
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    ExchangeId id = update.id();
    if (update.version() < context.store().version()) {
      return Future.succeededFuture(context.answers().parameters(id, Outcome.LATE, 0));
    }
    if (!active().contains(id.worker())) {
      return Future.succeededFuture(tooEarly(id));
    }
    Waiting worker = Waiting.of(id, 0, context.nanoClock().getAsLong());
    waiting.put(id.worker(), worker);
    round.hold(update);
    advance();
    return worker.promise().future();
  }

  @Override
  public void versionSkipped() {
    round.reset();
    takeWaiting().forEach(w -> w.answer(context.answers().parameters(w.id(), Outcome.LATE, 0)));
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
    List<Waiting> left = waiting.values().stream().filter(w -> w.hasLeft(now)).toList();
    left.forEach(worker -> waiting.remove(worker.id().worker()));
    left.forEach(worker -> round.leave(worker.id().worker()));
    if (active().isEmpty()) {
      round.reset();
      skipToFirstActive();
    }
    advance();
    left.forEach(worker -> worker.refuseAsLeft(now));
  }

  @Override
  public void tick(long nowNanos) {
    if (waiting.values().stream().anyMatch(w -> w.exceeds(config.deadlineMillis(), nowNanos))) {
      String why = overdue();
      drop(Reason.DEADLINE, why);
    }
  }

  @Override
  public void close(String why) {
    drop(Reason.UNAVAILABLE, why);
  }

  private void advance() {
    SortedSet<Integer> active = active();
    if (config.quorum() == 0) {
      round.sumInTurn(active);
    }
    int needed = config.quorum() == 0 ? active.size() : Math.min(config.quorum(), active.size());
    int here = active.size() - round.missing(active).size();
    if (here > 0 && here >= needed) {
      round.applyTo(context.store());
      takeWaiting()
          .forEach(w -> w.answer(context.answers().parameters(w.id(), Outcome.APPLIED, 0)));
    }
  }

  /** Rounds between that nobody takes part in would never close. */
  private void skipToFirstActive() {
    membership.workers().stream()
        .mapToLong(Member::activeFrom)
        .min()
        .ifPresent(first -> context.store().skipTo(Math.min(first, context.lastVersion())));
  }

  private void drop(Reason reason, String why) {
    round.reset();
    takeWaiting().forEach(worker -> worker.refuse(reason, why));
  }

  private List<Waiting> takeWaiting() {
    List<Waiting> all = List.copyOf(waiting.values());
    waiting.clear();
    return all;
  }

  private SortedSet<Integer> active() {
    long version = context.store().version();
    return membership.workers().stream()
        .filter(member -> member.activeFrom() <= version)
        .map(Member::rank)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private String overdue() {
    String missing =
        round.missing(active()).stream()
            .map(rank -> membership.worker(rank).orElseThrow())
            .map(m -> "worker %d (incarnation %d)".formatted(m.rank(), m.incarnation()))
            .collect(Collectors.joining(", "));
    return ("sync: partition %d, round %d: no gradient from %s within %d ms; %d that arrived were"
            + " dropped; see what holds it up, or raise strategy.deadlineMillis")
        .formatted(
            context.partition().index(),
            context.store().version(),
            missing,
            config.deadlineMillis(),
            round.arrived());
  }

  private Refusal tooEarly(ExchangeId id) {
    long first = membership.worker(id.worker()).map(Member::activeFrom).orElse(-1L);
    String message =
        "sync: partition %d: found worker %d in round %d, expected it from round %d on; pull that"
            .formatted(id.partition(), id.worker(), context.store().version(), first);
    return new Refusal(id, Reason.PROTOCOL, message);
  }
}
