package io.vertigrad.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Waits for every active worker, or the first {@code quorum} of them, takes one step with what they
 * sent and answers all of them: the frame of every strategy that moves in rounds.
 *
 * <p>A round is the partition's version. Who is late, too early, gone or overdue is answered here;
 * only what a round's gradients become is left to a {@link Reduction}.
 *
 * <p>Without a quorum the ranks that the job is shared out to ({@link
 * ServerStrategyContext#ranks()}) are always waited for, whether a worker plays them or not: what
 * one sent before it left stays in the round, and a replacement sends what is missing. Any other
 * worker that leaves is no longer waited for; when nobody is left the round is dropped, and rounds
 * that nobody takes part in are passed over.
 *
 * <p>With a quorum, workers that repeat a step after a server has gone back to a checkpoint may
 * have been in this round before and wait for another partition. When nobody else could still come,
 * the round closes with fewer gradients than the quorum.
 */
public final class Barrier implements ServerStrategy {

  /** Below the worker's own limit, so that the answer that names the culprit arrives in time. */
  public static final long DEADLINE_MILLIS = 50_000;

  private final String name;
  private final int quorum;
  private final long deadlineMillis;
  private final ServerStrategyContext context;
  private final Round round;
  private final TreeMap<Integer, Waiting> waiting = new TreeMap<>();
  private final Map<Integer, ExchangeId> repeating = new HashMap<>();
  private Membership membership;

  /**
   * Creates a barrier before its first round.
   *
   * @param name of the strategy, for errors
   * @param quorum gradients that close a round; 0 for all active workers
   * @param deadlineMillis longest a gradient waits for the others
   * @param context the partition, its store and the members
   * @param round keeps what arrived
   */
  Barrier(
      String name, int quorum, long deadlineMillis, ServerStrategyContext context, Round round) {
    this.name = name;
    this.quorum = quorum;
    this.deadlineMillis = deadlineMillis;
    this.context = context;
    this.round = round;
    this.membership = context.membership();
  }

  /**
   * Returns a barrier that waits for all active workers and keeps their gradients until the round
   * closes.
   *
   * @param name of the strategy, for errors
   * @param deadlineMillis longest a gradient waits for the others
   * @param context what the strategy of this partition was given
   * @param reduction what a round's gradients become
   * @return the barrier before its first round
   */
  public static Barrier keepingAll(
      String name, long deadlineMillis, ServerStrategyContext context, Reduction reduction) {
    return new Barrier(name, 0, deadlineMillis, context, new KeptRound(reduction));
  }

  /**
   * Returns a barrier that adds gradients up as they arrive, in rank order, and steps with their
   * sum or mean.
   *
   * @param name of the strategy, for errors
   * @param quorum gradients that close a round; 0 for all active workers
   * @param deadlineMillis longest a gradient waits for the others
   * @param context what the strategy of this partition was given
   * @param mean true to step with the mean over the samples, false with the sum over the workers
   * @return the barrier before its first round
   */
  public static Barrier summing(
      String name, int quorum, long deadlineMillis, ServerStrategyContext context, boolean mean) {
    GatherRound sum = new GatherRound(mean, context.partition().length());
    return new Barrier(name, quorum, deadlineMillis, context, sum);
  }

  /** What a round's gradients become. */
  @FunctionalInterface
  public interface Reduction {

    /**
     * Takes exactly one step.
     *
     * @param gradients of one round, at least one, in rank order
     * @param store where the step is taken
     */
    void reduce(List<GradientPartition> gradients, PartitionStore store);
  }

  /** One round's gradients on their way to a step. */
  interface Round {

    /** Takes a gradient, whose memory may be lent until {@link #keep}. */
    void hold(GradientPartition update);

    /** Whatever is held from now on, lent memory is not. */
    void keep();

    /** What can be done before the round closes, given the ranks that are expected. */
    default void advance(SortedSet<Integer> expected) {}

    /** A rank's worker left. */
    void leave(int rank);

    /** Takes one step with what is held, and starts over. */
    void applyTo(PartitionStore store);

    /** Drops the round. */
    void reset();
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
    repeating.remove(id.worker());
    round.hold(update);
    advance();
    round.keep();
    return worker.promise().future();
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public void repeated(ExchangeId id) {
    if (quorum > 0 && !waiting.containsKey(id.worker())) {
      repeating.put(id.worker(), id);
      advance();
    }
  }

  @Override
  public void versionSkipped() {
    round.reset();
    repeating.clear();
    takeWaiting().forEach(w -> w.answer(context.answers().parameters(w.id(), Outcome.LATE, 0)));
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
    repeating.values().removeIf(id -> !now.hasWorker(id.worker(), id.incarnation()));
    List<Waiting> left =
        waiting.values().stream()
            .filter(w -> w.id().worker() >= ranks() && w.hasLeft(now))
            .toList();
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
    if (waiting.values().stream().anyMatch(w -> w.exceeds(deadlineMillis, nowNanos))) {
      String why = overdue();
      drop(Reason.DEADLINE, why);
    }
  }

  @Override
  public Optional<StragglerReport> heldUp() {
    return waiting.isEmpty()
        ? Optional.empty()
        : Optional.of(
            StragglerReport.of(
                context.partition().index(), context.store().version(), missing(active())));
  }

  @Override
  public void close(String why) {
    drop(Reason.UNAVAILABLE, why);
  }

  private void advance() {
    SortedSet<Integer> active = active();
    if (quorum == 0) {
      round.advance(active);
    }
    SortedSet<Integer> missing = missing(active);
    int needed = quorum == 0 ? active.size() : Math.min(quorum, active.size());
    int here = active.size() - missing.size();
    if (here > 0 && (here >= needed || repeating.keySet().containsAll(missing))) {
      round.applyTo(context.store());
      repeating.clear();
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
    TreeSet<Integer> active =
        membership.workers().stream()
            .filter(member -> member.activeFrom() <= version)
            .map(Member::rank)
            .collect(Collectors.toCollection(TreeSet::new));
    for (int rank = 0; rank < ranks(); rank++) {
      active.add(rank);
    }
    return active;
  }

  /** Ranks that a round cannot do without. */
  private int ranks() {
    return quorum == 0 ? context.ranks() : 0;
  }

  private SortedSet<Integer> missing(SortedSet<Integer> expected) {
    SortedSet<Integer> missing = new TreeSet<>(expected);
    missing.removeAll(waiting.keySet());
    return missing;
  }

  private String overdue() {
    String missing = missing(active()).stream().map(this::named).collect(Collectors.joining(", "));
    return ("%s: partition %d, round %d: no gradient from %s within %d ms; %d that arrived were"
            + " dropped; see what holds it up, or raise strategy.deadlineMillis")
        .formatted(
            name,
            context.partition().index(),
            context.store().version(),
            missing,
            deadlineMillis,
            waiting.size());
  }

  private String named(int rank) {
    return membership
        .worker(rank)
        .map(m -> "worker %d (incarnation %d)".formatted(rank, m.incarnation()))
        .orElse("worker %d (lost, without a replacement)".formatted(rank));
  }

  private Refusal tooEarly(ExchangeId id) {
    long first = membership.worker(id.worker()).map(Member::activeFrom).orElse(-1L);
    String message =
        "%s: partition %d: found worker %d in round %d, expected it from round %d on; pull that"
            .formatted(name, id.partition(), id.worker(), context.store().version(), first);
    return new Refusal(id, Reason.PROTOCOL, message);
  }
}
