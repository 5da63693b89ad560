package io.vertigrad.examples.ownstrategy;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.verticles.strategy.ExchangeStrategy;
import io.vertigrad.verticles.strategy.Membership;
import io.vertigrad.verticles.strategy.Membership.Member;
import io.vertigrad.verticles.strategy.StrategyContext;
import io.vertx.core.Future;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Waits for every active worker and takes one step with the coordinate-wise trimmed mean of their
 * gradients: of n values the {@code trim} largest and smallest are dropped, the rest is averaged.
 *
 * <p>Up to {@code trim} workers may send anything at all, as long as {@code n > 2 trim}; with n = 2
 * trim + 1 it is the coordinate-wise median. Yin, Chen, Ramchandran, Bartlett: "Byzantine-Robust
 * Distributed Learning: Towards Optimal Statistical Rates", ICML 2018.
 *
 * <p>Workers count alike, whatever their batch. All gradients of a round are kept until it closes.
 */
final class TrimmedMean implements ExchangeStrategy {

  private final TrimmedMeanConfig config;
  private final StrategyContext context;
  private final TreeMap<Integer, Arrival> arrived = new TreeMap<>();
  private Membership membership;

  TrimmedMean(TrimmedMeanConfig config, StrategyContext context) {
    this.config = config;
    this.context = context;
    this.membership = context.membership();
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    if (update.version() < context.store().version()) {
      return Future.succeededFuture(context.answers().parameters(update.id(), Outcome.LATE, 0));
    }
    if (!activeRanks().contains(update.id().worker())) {
      return Future.succeededFuture(new Refusal(update.id(), Reason.PROTOCOL, tooEarly(update)));
    }
    Arrival arrival = new Arrival(update, context.nanoClock().getAsLong());
    arrived.put(update.id().worker(), arrival);
    closeRoundWhenAllAreHere();
    return arrival.answer().future();
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
    List<Arrival> gone = arrived.values().stream().filter(this::hasLeft).toList();
    gone.forEach(arrival -> arrived.remove(arrival.id().worker()));
    if (activeRanks().isEmpty()) {
      skipToFirstActive();
    }
    closeRoundWhenAllAreHere();
    gone.forEach(a -> a.refuse(Reason.STALE_INCARNATION, "this worker has left; join again"));
  }

  @Override
  public void versionSkipped() {
    answerAll(Outcome.LATE);
  }

  @Override
  public void tick(long nowNanos) {
    long limit = TimeUnit.MILLISECONDS.toNanos(config.deadlineMillis());
    if (arrived.values().stream().anyMatch(a -> nowNanos - a.sinceNanos() >= limit)) {
      String why = overdue();
      release(arrival -> arrival.refuse(Reason.DEADLINE, why));
    }
  }

  @Override
  public void close(String why) {
    release(arrival -> arrival.refuse(Reason.UNAVAILABLE, why));
  }

  private void closeRoundWhenAllAreHere() {
    Set<Integer> active = activeRanks();
    if (active.isEmpty() || !arrived.keySet().containsAll(active)) {
      return;
    }
    List<Tensor> gradients = arrived.values().stream().map(a -> a.update().gradient()).toList();
    long samples = arrived.values().stream().mapToLong(a -> a.update().samples()).sum();
    TrimmedSum trimmed = TrimmedSum.of(gradients, config.trim());
    context.store().apply(trimmed.sum(), 1f / trimmed.kept(), samples);
    answerAll(Outcome.APPLIED);
  }

  private void answerAll(Outcome outcome) {
    release(a -> a.answer().complete(context.answers().parameters(a.id(), outcome, 0)));
  }

  /** Clears the round first: an answered worker may be back before the next one is answered. */
  private void release(Consumer<Arrival> answer) {
    List<Arrival> all = List.copyOf(arrived.values());
    arrived.clear();
    all.forEach(answer);
  }

  private Set<Integer> activeRanks() {
    long round = context.store().version();
    return membership.workers().stream()
        .filter(member -> member.activeFrom() <= round)
        .map(Member::rank)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private boolean hasLeft(Arrival arrival) {
    return !membership.hasWorker(arrival.id().worker(), arrival.id().incarnation());
  }

  /** When all who are left start later, nobody would ever close the rounds before. */
  private void skipToFirstActive() {
    membership.workers().stream()
        .mapToLong(Member::activeFrom)
        .min()
        .ifPresent(first -> context.store().skipTo(Math.min(first, context.lastVersion())));
  }

  private String tooEarly(GradientPartition update) {
    return "trimmed-mean: worker %d takes part later than in round %d; pull its first round"
        .formatted(update.id().worker(), context.store().version());
  }

  private String overdue() {
    Set<Integer> missing = activeRanks();
    missing.removeAll(arrived.keySet());
    return "trimmed-mean: partition %d, round %d: no gradient from worker %s within %d ms"
        .formatted(
            context.partition().index(),
            context.store().version(),
            missing.stream().map(String::valueOf).collect(Collectors.joining(", worker ")),
            config.deadlineMillis());
  }
}
