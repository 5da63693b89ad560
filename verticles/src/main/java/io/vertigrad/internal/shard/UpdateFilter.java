package io.vertigrad.internal.shard;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.shard.Shard.ShardConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.IntConsumer;

/**
 * Filters the updates of one partition before they reach its strategy, and counts their outcomes.
 *
 * <p>An update is refused if it is meant for another job, layout or partition, if its sender is no
 * member, or if its gradient has elements that are NaN, infinite or too large: one such element
 * would ruin all parameters for good. A strategy may take NaN and infinity to leave them out.
 *
 * <p>An update is identified by (job, rank, step, partition); for a rank beyond the job's ranks
 * also by its worker's incarnation. An update that was already processed is answered with the
 * current parameters and not handed on again. One that still waits shares the pending answer. A
 * refused update counts as never seen, unless the strategy {@linkplain
 * ServerStrategy#appliesAtOnce() applies at once}.
 *
 * <p>A partition restored from a checkpoint moves up to the newest version that a worker has seen,
 * so that rounds stay aligned with other partitions; the updates in between are lost.
 *
 * <p>An update that would follow a version to be tested first is held back with a copy of its
 * gradient, at most one per worker. A retry shares the answer that it waits for.
 */
final class UpdateFilter {

  /**
   * Greatest number of steps that a worker may skip because its gradients were refused; it gives up
   * after fewer refusals in a row. After a greater jump, its real steps would look like repeats.
   */
  private static final long STEP_WINDOW = 64;

  private final ServerStrategy strategy;
  private final boolean takesNotFinite;
  private final ServerStrategyContext context;
  private final IntConsumer updatedBy;
  private final ShardConfig config;
  private final PartitionLedger ledger;
  private final UpdateOutcomes outcomes;
  private final WaitingUpdates waiting;
  private final Deque<HeldUpdate> heldUpdates = new ArrayDeque<>();
  private Membership membership;
  private long testAt = EvaluationPlan.NONE;

  private record HeldUpdate(GradientPartition update, Promise<Frame> promise) {}

  /**
   * Puts the filter before a strategy.
   *
   * @param ledger the updates that were processed before
   * @param outcomes counts the outcome of every update
   */
  UpdateFilter(
      ServerStrategy strategy,
      boolean takesNotFinite,
      ServerStrategyContext context,
      IntConsumer updatedBy,
      ShardConfig config,
      PartitionLedger ledger,
      UpdateOutcomes outcomes) {
    this.strategy = strategy;
    this.takesNotFinite = takesNotFinite;
    this.context = context;
    this.updatedBy = updatedBy;
    this.config = config;
    this.ledger = ledger;
    this.outcomes = outcomes;
    this.waiting = new WaitingUpdates(context.ranks());
    this.membership = context.membership();
  }

  /**
   * Passes an update to the strategy, or answers or refuses it.
   *
   * @return completes with the answer or a refusal
   */
  Future<Frame> exchange(GradientPartition update) {
    ExchangeId id = update.id();
    Optional<Refusal> refusal = misdirected(update).or(() -> unknownSender(id));
    if (refusal.isPresent()) {
      return refused(refusal.get());
    }
    Optional<Future<Frame>> waitsFor = waiting.answer(id);
    if (waitsFor.isPresent()) {
      // Its own reference, taken before the first receiver's tensor can be reused.
      return waitsFor.get().map(Frame::retain);
    }
    if (ledger.isSettled(id)) {
      strategy.repeated(id);
      return answered(id, Outcome.DUPLICATE);
    }
    return processNew(update);
  }

  /** Returns whether an update of this rank waits for its answer. */
  boolean waits(int rank) {
    return waiting.step(rank).isPresent();
  }

  /** Returns the first step of a rank that has not arrived. */
  long nextStep(int rank) {
    return Math.max(ledger.nextStep(rank), waiting.step(rank).map(step -> step + 1).orElse(0L));
  }

  /** Holds back every update that would follow this version; releases earlier ones. */
  void testAt(long version) {
    testAt = version;
    while (!heldUpdates.isEmpty() && !waitsForTest()) {
      HeldUpdate next = heldUpdates.remove();
      waiting.release(next.update().id());
      processNew(next.update()).onComplete(next.promise());
    }
  }

  /** Takes a membership, proposed or agreed, and refuses held updates of workers that left. */
  void membershipChanged(Membership now) {
    membership = now;
    strategy.membershipChanged(now);
    List<HeldUpdate> left =
        heldUpdates.stream().filter(held -> !isMember(held.update().id())).toList();
    heldUpdates.removeAll(left);
    waiting.retain(now);
    left.forEach(
        held -> {
          ExchangeId id = held.update().id();
          // The replacement repeats this step; it must not find the refused update waiting.
          waiting.release(id);
          held.promise().complete(unknownSender(id).orElseThrow());
        });
  }

  /** Reports to the strategy whether the job is paused. */
  void paused(boolean paused) {
    strategy.paused(paused);
  }

  /** Ends waits of the strategy that took too long. */
  void tick(long nowNanos) {
    strategy.tick(nowNanos);
  }

  /** Returns the workers that the strategy waits for, if one of its workers waits. */
  Optional<StragglerReport> heldUp() {
    return strategy.heldUp();
  }

  /** Ends every wait with {@code UNAVAILABLE}. */
  void close(String reason) {
    List<HeldUpdate> all = List.copyOf(heldUpdates);
    heldUpdates.clear();
    all.forEach(
        held -> {
          ExchangeId id = held.update().id();
          waiting.release(id);
          held.promise().complete(new Refusal(id, Reason.UNAVAILABLE, reason));
        });
    strategy.close(reason);
  }

  private Optional<Refusal> misdirected(GradientPartition update) {
    Partition partition = context.partition();
    long layout = context.answers().layout();
    if (update.id().job() != config.job()) {
      return wrongLayout(update, "job", hex(update.id().job()), hex(config.job()));
    }
    if (update.layout() != layout) {
      return wrongLayout(update, "layout", hex(update.layout()), hex(layout));
    }
    if (update.firstElement() != partition.first()) {
      return wrongLayout(update, "first element", update.firstElement(), partition.first());
    }
    if (update.gradient().length() != partition.length()) {
      return wrongLayout(update, "length", update.gradient().length(), partition.length());
    }
    return Optional.empty();
  }

  private Optional<Refusal> wrongLayout(
      GradientPartition update, String what, Object found, Object expected) {
    return Optional.of(
        new Refusal(
            update.id(),
            Reason.WRONG_LAYOUT,
            "partition %s: found %s %s from worker %s, expected %s; use the same job file and model"
                .formatted(
                    context.partition().index(), what, found, update.id().worker(), expected)));
  }

  private static String hex(long hash) {
    return "%016x".formatted(hash);
  }

  private Optional<Refusal> unknownSender(ExchangeId id) {
    int known = membership.worker(id.worker()).map(Member::incarnation).orElse(-1);
    if (known == id.incarnation()) {
      return Optional.empty();
    }
    boolean ahead = id.epoch() > membership.epoch() || known >= 0 && known < id.incarnation();
    String message =
        "partition %s: found worker %s of incarnation %s, expected %s as of membership epoch %s; %s"
            .formatted(
                context.partition().index(),
                id.worker(),
                id.incarnation(),
                known < 0 ? "nobody of this rank" : "incarnation " + known,
                membership.epoch(),
                ahead ? "news of it is on its way, try again" : "join again");
    Reason reason = ahead ? Reason.UNAVAILABLE : Reason.STALE_INCARNATION;
    return Optional.of(new Refusal(id, reason, message));
  }

  private boolean isMember(ExchangeId id) {
    return membership.hasWorker(id.worker(), id.incarnation());
  }

  private Future<Frame> processNew(GradientPartition update) {
    ExchangeId id = update.id();
    if (id.worker() < context.ranks() && id.step() - nextStep(id.worker()) > STEP_WINDOW) {
      return refused(tooFarAhead(id));
    }
    Optional<Long> before = waiting.step(id.worker());
    if (before.isPresent()) {
      return before.get() > id.step()
          ? answered(id, Outcome.DUPLICATE)
          : refused(stepTooEarly(id, before.get()));
    }
    if (update.version() > context.store().version() && !skipToSeenVersion(update)) {
      return refused(versionTooNew(update));
    }
    if (context.store().version() >= context.lastVersion()) {
      ledger.count(id, Outcome.FINISHED);
      return answered(id, Outcome.FINISHED);
    }
    TensorView sent = update.gradient();
    if (!sent.isWithin(config.maxMagnitude()) && !(takesNotFinite && !sent.isFinite())) {
      ledger.recordRefusal(id);
      return refused(tooLarge(id, update.gradient()));
    }
    return waitsForTest() ? hold(update) : exchangeWithStrategy(update);
  }

  /**
   * Skips to the version of a gradient, if this partition was restored: after a crash, workers have
   * seen versions that the checkpoint lacks, and those updates are lost.
   */
  private boolean skipToSeenVersion(GradientPartition update) {
    boolean seen = context.store().isRestored() && update.version() <= context.lastVersion();
    if (seen) {
      context.store().skipTo(update.version());
      strategy.versionSkipped();
    }
    return seen;
  }

  private boolean waitsForTest() {
    return context.store().version() >= testAt;
  }

  private Future<Frame> hold(GradientPartition update) {
    HeldUpdate held = new HeldUpdate(update.retain(), Promise.promise());
    heldUpdates.add(held);
    waiting.await(update.id(), held.promise().future());
    return held.promise().future();
  }

  private Future<Frame> exchangeWithStrategy(GradientPartition update) {
    ExchangeId id = update.id();
    if (strategy.appliesAtOnce()) {
      updatedBy.accept(id.worker());
    }
    Future<Frame> answer =
        Objects.requireNonNull(
            strategy.exchange(strategy.borrows() ? update : update.retain()), "no future returned");
    if (!answer.isComplete()) {
      waiting.await(id, answer);
      if (strategy.appliesAtOnce()) {
        ledger.count(id, Outcome.APPLIED);
      }
    }
    return answer.onComplete(result -> settle(id, result));
  }

  private void settle(ExchangeId id, AsyncResult<Frame> result) {
    waiting.release(id);
    if (result.result() instanceof ParameterPartition answer) {
      ledger.count(id, answer.outcome());
      outcomes.answered(answer.outcome());
    } else if (result.result() instanceof Refusal refusal) {
      outcomes.refused(refusal);
    }
  }

  private Future<Frame> answered(ExchangeId id, Outcome outcome) {
    outcomes.answered(outcome);
    return Future.succeededFuture(context.answers().parameters(id, outcome, 0));
  }

  private Future<Frame> refused(Refusal refusal) {
    outcomes.refused(refusal);
    return Future.succeededFuture(refusal);
  }

  private Refusal stepTooEarly(ExchangeId id, long before) {
    return new Refusal(
        id,
        Reason.PROTOCOL,
        "partition %s: found step %s of worker %s while its step %s still waits; repeat that"
            .formatted(id.partition(), id.step(), id.worker(), before));
  }

  private Refusal tooFarAhead(ExchangeId id) {
    long next = nextStep(id.worker());
    return new Refusal(
        id,
        Reason.PROTOCOL,
        "partition %s: found step %s of worker %s, expected %s, or at most %s after refused ones"
            .formatted(id.partition(), id.step(), id.worker(), next, next + STEP_WINDOW));
  }

  private Refusal versionTooNew(GradientPartition update) {
    return new Refusal(
        update.id(),
        Reason.PROTOCOL,
        ("partition %s: found a gradient of worker %s at version %s, expected at most %s; was this"
                + " shard lost without a checkpoint?")
            .formatted(
                update.id().partition(),
                update.id().worker(),
                update.version(),
                context.store().version()));
  }

  private Refusal tooLarge(ExchangeId id, TensorView gradient) {
    String found =
        gradient.isFinite()
            ? "an element beyond %s (exchange.maxMagnitude)".formatted(config.maxMagnitude())
            : "NaN or infinity";
    return new Refusal(
        id,
        Reason.NOT_FINITE,
        "partition %s: the gradient of worker %s, step %s holds %s; not applied"
            .formatted(id.partition(), id.worker(), id.step(), found));
  }

  /**
   * The update of each worker that waits for its answer, of one partition. They are no part of a
   * checkpoint, because they are not in the parameters yet.
   *
   * <p>As in the {@link PartitionLedger}, updates of the job's configured ranks are identified by
   * rank and step, those of other ranks by incarnation, too.
   */
  private static final class WaitingUpdates {

    private final int ranks;
    private final Map<Integer, Waiting> waiting = new HashMap<>();

    private record Waiting(ExchangeId id, Future<Frame> answer) {}

    /** Creates an object without updates of so many configured ranks, which start at 0. */
    WaitingUpdates(int ranks) {
      this.ranks = ranks;
    }

    /** Returns the step of this worker's update that still waits for its answer. */
    Optional<Long> step(int worker) {
      return Optional.ofNullable(waiting.get(worker)).map(found -> found.id().step());
    }

    /** Returns the answer that exactly this update waits for. */
    Optional<Future<Frame>> answer(ExchangeId id) {
      Waiting found = waiting.get(id.worker());
      return found != null && isSame(found.id(), id)
          ? Optional.of(found.answer())
          : Optional.empty();
    }

    /** Marks this update as waiting. */
    void await(ExchangeId id, Future<Frame> answer) {
      waiting.put(id.worker(), new Waiting(id, answer));
    }

    /** Marks this update as no longer waiting. */
    void release(ExchangeId id) {
      Waiting found = waiting.get(id.worker());
      if (found != null && isSame(found.id(), id)) {
        waiting.remove(id.worker());
      }
    }

    /** Forgets all workers that are not members, except the permanent ranks. */
    void retain(Membership now) {
      waiting
          .values()
          .removeIf(
              found ->
                  found.id().worker() >= ranks
                      && !now.hasWorker(found.id().worker(), found.id().incarnation()));
    }

    private boolean isSame(ExchangeId a, ExchangeId b) {
      boolean sameWorker = a.worker() < ranks || a.incarnation() == b.incarnation();
      return sameWorker && a.step() == b.step();
    }
  }
}
