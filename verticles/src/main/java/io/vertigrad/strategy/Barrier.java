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
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Waits for every active worker, or the first {@code quorum} of them, takes one step with their
 * gradients and answers all of them. Every strategy that moves in rounds is built on it.
 *
 * <p>A round is the partition's version. The barrier answers gradients that are late, too early,
 * overdue or from a worker that left; a {@link Reduction} only combines the gradients of a round.
 *
 * <p>Without a quorum, a round always needs a gradient of each of the job's ranks ({@link
 * ServerStrategyContext#ranks()}), even if no worker has the rank at the moment. A gradient that a
 * worker sent before it left stays in the round, and a replacement sends what is missing. Any other
 * worker that leaves is no longer waited for. When no worker is left the round is dropped, and
 * rounds without an active worker are skipped.
 *
 * <p>With a quorum, a worker that repeats a step after a server has gone back to a checkpoint may
 * have been in this round before and wait for another partition. When no other worker can still
 * send, the round closes with fewer gradients than the quorum.
 *
 * <p>A barrier that {@linkplain #merging merges} late updates adds each to the step of the round
 * that is open when it comes, and answers it at once. It does not count to the quorum.
 */
public final class Barrier implements ServerStrategy {

  /**
   * Default limit on the wait. It is shorter than the worker's own limit, so that the answer that
   * names the culprit arrives in time.
   */
  public static final long DEADLINE_MILLIS = 50_000;

  private final String name;
  private final int quorum;
  private final long graceMillis;
  private final long deadlineMillis;
  private final ServerStrategyContext context;
  private final Round round;
  private final TreeMap<Integer, Waiting> waiting = new TreeMap<>();
  private final Map<Integer, ExchangeId> repeating = new HashMap<>();
  private Membership membership;
  private SortedSet<Integer> active;
  private long activeVersion;
  private int present;
  private OptionalLong quorumNanos = OptionalLong.empty();

  /** What the step of a closed round waits for; null while a round is open. */
  private Future<?> awaited;

  /** Ranks whose gradient came after the round had closed, before its step. */
  private final Set<Integer> missed = new TreeSet<>();

  /**
   * Creates a barrier before its first round.
   *
   * @param name of the strategy, for errors
   * @param quorum number of gradients that close a round; 0 for all active workers
   * @param graceMillis how long a round stays open after its quorum
   * @param deadlineMillis longest time that a gradient waits for the others
   * @param context the partition, its store and the members
   * @param round stores the gradients of a round
   */
  Barrier(
      String name,
      int quorum,
      long graceMillis,
      long deadlineMillis,
      ServerStrategyContext context,
      Round round) {
    this.name = name;
    this.quorum = quorum;
    this.graceMillis = graceMillis;
    this.deadlineMillis = deadlineMillis;
    this.context = context;
    this.round = round;
    this.membership = context.membership();
  }

  /**
   * Creates a barrier that waits for all active workers and keeps their gradients until the round
   * closes.
   *
   * @param name of the strategy, for errors
   * @param deadlineMillis longest time that a gradient waits for the others
   * @param context that the strategy of this partition received
   * @param reduction combines a round's gradients
   * @return the barrier before its first round
   */
  public static Barrier keepingAll(
      String name, long deadlineMillis, ServerStrategyContext context, Reduction reduction) {
    return new Barrier(name, 0, 0, deadlineMillis, context, new KeptRound(reduction));
  }

  /**
   * Creates a barrier that adds gradients when they arrive, in rank order, and steps with their sum
   * or mean.
   *
   * @param name of the strategy, for errors
   * @param quorum number of gradients that close a round; 0 for all active workers
   * @param deadlineMillis longest time that a gradient waits for the others
   * @param context that the strategy of this partition received
   * @param mean true to step with the mean over the samples, false with the sum over the workers
   * @return the barrier before its first round
   */
  public static Barrier summing(
      String name, int quorum, long deadlineMillis, ServerStrategyContext context, boolean mean) {
    GatherRound sum = new GatherRound(mean, context.partition().length(), Optional.empty());
    return new Barrier(name, quorum, 0, deadlineMillis, context, sum);
  }

  /**
   * Creates a barrier that adds updates when they arrive and steps with their sum or mean. An
   * update that is late for its round is answered at once and joins the step of the open round;
   * until then it is in the partition's checkpoints.
   *
   * @param name of the strategy, for errors
   * @param quorum number of updates that close a round, at least 1
   * @param graceMillis how long a round stays open after its quorum for others; 0 to close at once
   * @param deadlineMillis longest time that an update waits for the others
   * @param context that the strategy of this partition received
   * @param mean true to step with the mean over the samples, false with the sum over the updates
   * @return the barrier before its first round
   */
  public static Barrier merging(
      String name,
      int quorum,
      long graceMillis,
      long deadlineMillis,
      ServerStrategyContext context,
      boolean mean) {
    if (quorum < 1 || graceMillis < 0) {
      throw new IllegalArgumentException(
          "quorum %s, %s ms of grace: expected at least 1 and 0".formatted(quorum, graceMillis));
    }
    LateUpdates late = new LateUpdates(context.store());
    GatherRound sum = new GatherRound(mean, context.partition().length(), Optional.of(late));
    return new Barrier(name, quorum, graceMillis, deadlineMillis, context, sum);
  }

  /** Combines a round's gradients. */
  @FunctionalInterface
  public interface Reduction {

    /**
     * Called when a round has closed, before its step. The step is taken when the result completes,
     * with the same gradients; until then nothing else happens to the partition. A failure, like
     * anything thrown, ends the job. By default, the step is taken at once.
     *
     * <p>Another partition may be what completes the result, such as that of {@link PartitionSums}.
     * At the deadline of the round, or when a server goes back to a checkpoint, the wait ends
     * without a step, and a later call may be for the same version.
     *
     * @param gradients of one round, at least one, in rank order
     * @param store the partition before its step
     * @return completes on the rule's thread
     */
    default Future<?> prepare(List<GradientPartition> gradients, PartitionStore store) {
      return Future.succeededFuture();
    }

    /**
     * Takes exactly one step.
     *
     * @param gradients of one round, at least one, in rank order; their memory is used again
     *     afterwards
     * @param store takes the step
     */
    void reduce(List<GradientPartition> gradients, PartitionStore store);
  }

  /** The gradients of one round before their step. */
  interface Round {

    /** Adds a gradient. Its memory may be borrowed until {@link #retain} is called. */
    void hold(GradientPartition update);

    /** Copies the gradients held in borrowed memory. */
    void retain();

    /** Does what is possible before the round closes, given the ranks that are expected. */
    default void advance(SortedSet<Integer> expected) {}

    /** Adds a gradient of an earlier round to this one. Returns false if it has no place in it. */
    default boolean addLate(GradientPartition update) {
      return false;
    }

    /** Removes the gradient of a rank whose worker left. */
    void leave(int rank);

    /** Closes the round; the step may be taken when the result completes. */
    default Future<?> prepare(PartitionStore store) {
      return Future.succeededFuture();
    }

    /** Takes one step with the gradients and starts a new round. */
    void applyTo(PartitionStore store);

    /** Drops the gradients and starts a new round. */
    void reset();
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    ExchangeId id = update.id();
    long age = context.store().version() - update.version();
    if (age > 0) {
      boolean added = round.addLate(update);
      int staleness = added ? (int) Math.min(age, Integer.MAX_VALUE) : 0;
      Outcome outcome = added ? Outcome.APPLIED : Outcome.LATE;
      return Future.succeededFuture(context.answers().parameters(id, outcome, staleness));
    }
    if (!active().contains(id.worker())) {
      return Future.succeededFuture(tooEarly(id));
    }
    Waiting worker = Waiting.of(id, 0, context.nanoClock().getAsLong());
    present += waiting.put(id.worker(), worker) == null ? 1 : 0;
    repeating.remove(id.worker());
    if (awaited != null) {
      missed.add(id.worker());
      return worker.promise().future();
    }
    round.hold(update);
    advance();
    round.retain();
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
    resetRound();
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
    active = null;
    if (active().isEmpty()) {
      resetRound();
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
    } else if (quorumNanos.isPresent()) {
      advance();
    }
  }

  @Override
  public Optional<StragglerReport> heldUp() {
    return waiting.isEmpty() || awaited != null
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
    if (awaited != null) {
      return;
    }
    SortedSet<Integer> active = active();
    if (quorum == 0) {
      round.advance(active);
    }
    int needed = quorum == 0 ? active.size() : Math.min(quorum, active.size());
    boolean enough = present >= needed && isGraceOver(present > 0 && present < active.size());
    if (present > 0 && (enough || othersRepeat(active))) {
      repeating.clear();
      quorumNanos = OptionalLong.empty();
      Future<?> ready = round.prepare(context.store());
      if (waiting.isEmpty()) {
        // It completed the wait of another partition, whose rule failed and closed this one.
        return;
      }
      if (ready.succeeded()) {
        step();
      } else {
        awaited = ready;
        ready.onComplete(done -> stepAfter(ready));
      }
    }
  }

  /** Takes the step of a closed round, unless the round was dropped. */
  private void stepAfter(Future<?> ready) {
    if (awaited != ready) {
      return;
    }
    awaited = null;
    if (ready.failed()) {
      fail(ready.cause());
      return;
    }
    try {
      step();
    } catch (Throwable thrown) {
      fail(thrown);
    }
  }

  /** Tells the shard, which is not the caller, through the answers. */
  private void fail(Throwable thrown) {
    takeWaiting().forEach(worker -> worker.promise().tryFail(thrown));
  }

  private void step() {
    round.applyTo(context.store());
    Set<Integer> late = Set.copyOf(missed);
    missed.clear();
    for (Waiting each : takeWaiting()) {
      Outcome outcome = late.contains(each.id().worker()) ? Outcome.LATE : Outcome.APPLIED;
      each.answer(context.answers().parameters(each.id(), outcome, 0));
    }
  }

  /** Returns whether all workers that the round still expects wait for other partitions. */
  private boolean othersRepeat(SortedSet<Integer> active) {
    return !repeating.isEmpty() && repeating.keySet().containsAll(missing(active));
  }

  /**
   * Returns whether a round that has its quorum need not stay open any longer.
   *
   * @param mayJoin true if another worker may still join it
   */
  private boolean isGraceOver(boolean mayJoin) {
    if (graceMillis == 0 || !mayJoin) {
      return true;
    }
    long now = context.nanoClock().getAsLong();
    if (quorumNanos.isEmpty()) {
      quorumNanos = OptionalLong.of(now);
    }
    return now - quorumNanos.getAsLong() >= graceMillis * 1_000_000;
  }

  /** Skips rounds without an active worker, which would never close. */
  private void skipToFirstActive() {
    membership.workers().stream()
        .mapToLong(Member::activeFrom)
        .min()
        .ifPresent(first -> context.store().skipTo(Math.min(first, context.lastVersion())));
  }

  private void drop(Reason reason, String why) {
    resetRound();
    takeWaiting().forEach(worker -> worker.refuse(reason, why));
  }

  private void resetRound() {
    round.reset();
    awaited = null;
    missed.clear();
    quorumNanos = OptionalLong.empty();
  }

  private List<Waiting> takeWaiting() {
    List<Waiting> all = List.copyOf(waiting.values());
    waiting.clear();
    present = 0;
    return all;
  }

  /**
   * Returns the ranks that the open round expects. The same set is returned for every gradient of
   * the round while the membership stays, and {@code present} counts those that wait.
   */
  private SortedSet<Integer> active() {
    long version = context.store().version();
    if (active == null || activeVersion != version) {
      active = expected(version);
      activeVersion = version;
      present = (int) waiting.keySet().stream().filter(active::contains).count();
    }
    return active;
  }

  private SortedSet<Integer> expected(long version) {
    TreeSet<Integer> ranks =
        membership.workers().stream()
            .filter(member -> member.activeFrom() <= version)
            .map(Member::rank)
            .collect(Collectors.toCollection(TreeSet::new));
    for (int rank = 0; rank < ranks(); rank++) {
      ranks.add(rank);
    }
    return ranks;
  }

  /** Returns the number of ranks that every round needs. */
  private int ranks() {
    return quorum == 0 ? context.ranks() : 0;
  }

  private SortedSet<Integer> missing(SortedSet<Integer> expected) {
    SortedSet<Integer> missing = new TreeSet<>(expected);
    missing.removeAll(waiting.keySet());
    return missing;
  }

  private String overdue() {
    if (awaited != null) {
      return ("%s: partition %s, round %s: all gradients came, but not what the step needs from %s"
              + " within %s ms; see what holds it up, or raise strategy.deadlineMillis")
          .formatted(
              name,
              context.partition().index(),
              context.store().version(),
              context.sums().missing(),
              deadlineMillis);
    }
    String missing =
        StragglerReport.listed(missing(active()).stream().map(this::named).toList(), ", ");
    return ("%s: partition %s, round %s: no gradient from %s within %s ms; %s that arrived were"
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
        .map(m -> "worker %s (incarnation %s)".formatted(rank, m.incarnation()))
        .orElse("worker %s (lost, without a replacement)".formatted(rank));
  }

  private Refusal tooEarly(ExchangeId id) {
    long first = membership.worker(id.worker()).map(Member::activeFrom).orElse(-1L);
    String message =
        "%s: partition %s: found worker %s in round %s, expected it from round %s on; pull that"
            .formatted(name, id.partition(), id.worker(), context.store().version(), first);
    return new Refusal(id, Reason.PROTOCOL, message);
  }
}
