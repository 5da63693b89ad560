package io.vertigrad.internal.server;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.server.Shard.StrategyObserver;
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
import java.util.List;
import java.util.Optional;

/**
 * Filters the updates of one partition before they reach its strategy.
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
final class UpdateFilter implements ServerStrategy {

  /**
   * Greatest number of steps that a worker may skip because its gradients were refused; it gives up
   * after fewer refusals in a row. After a greater jump, its real steps would look like repeats.
   */
  private static final long STEP_WINDOW = 64;

  private final ServerStrategy strategy;
  private final ServerStrategyContext context;
  private final AdmissionCheck check;
  private final DuplicateWindow window;
  private final MagnitudeBound bound;
  private final StrategyObserver observer;
  private final PartitionLedger ledger;
  private final Deque<Held> held = new ArrayDeque<>();
  private Membership membership;
  private long testAt = EvaluationPlan.NONE;

  private record Held(GradientPartition update, Promise<Frame> promise) {}

  /**
   * Puts the filter before a strategy.
   *
   * @param job hash of the job's name
   * @param window the updates that were seen before
   * @param bound refuses gradients that are not finite or too large
   * @param observer receives the outcome of every update
   */
  public UpdateFilter(
      ServerStrategy strategy,
      ServerStrategyContext context,
      long job,
      DuplicateWindow window,
      MagnitudeBound bound,
      StrategyObserver observer) {
    this.strategy = strategy;
    this.context = context;
    this.check = new AdmissionCheck(job, context.answers().layout(), context.partition());
    this.window = window;
    this.bound = bound;
    this.observer = observer;
    this.ledger = new PartitionLedger(context.ranks());
    this.membership = context.membership();
  }

  @Override
  public Future<Frame> exchange(GradientPartition update) {
    ExchangeId id = update.id();
    Optional<Refusal> refusal = check.refusal(update, membership);
    if (refusal.isPresent()) {
      return refused(refusal.get());
    }
    Optional<Future<Frame>> waiting = window.waitingAnswer(id);
    if (waiting.isPresent()) {
      // Its own reference, taken before the first receiver's tensor can be reused.
      return waiting.get().map(Frame::retain);
    }
    if (window.isSettled(id)) {
      strategy.repeated(id);
      return answered(id, Outcome.DUPLICATE);
    }
    return unseen(update);
  }

  /** Returns the outcomes of all updates. */
  PartitionLedger ledger() {
    return ledger;
  }

  @Override
  public boolean borrows() {
    return true;
  }

  @Override
  public boolean appliesAtOnce() {
    return strategy.appliesAtOnce();
  }

  /** Holds back every update that would follow this version; releases earlier ones. */
  public void testAt(long version) {
    testAt = version;
    while (!held.isEmpty() && !holdsBack()) {
      Held next = held.remove();
      window.release(next.update().id());
      unseen(next.update()).onComplete(next.promise());
    }
  }

  @Override
  public void membershipChanged(Membership now) {
    membership = now;
    strategy.membershipChanged(now);
    List<Held> left = held.stream().filter(waits -> !isMember(waits.update().id(), now)).toList();
    held.removeAll(left);
    window.retain(now);
    left.forEach(
        waits -> waits.promise().complete(check.refusal(waits.update(), now).orElseThrow()));
  }

  @Override
  public void tick(long nowNanos) {
    strategy.tick(nowNanos);
  }

  @Override
  public Optional<StragglerReport> heldUp() {
    return strategy.heldUp();
  }

  @Override
  public void close(String why) {
    strategy.close(why);
    List<Held> all = List.copyOf(held);
    held.clear();
    all.forEach(
        waits -> {
          ExchangeId id = waits.update().id();
          window.release(id);
          waits.promise().complete(new Refusal(id, Reason.UNAVAILABLE, why));
        });
  }

  private Future<Frame> unseen(GradientPartition update) {
    ExchangeId id = update.id();
    if (id.worker() < context.ranks() && id.step() - window.nextStep(id.worker()) > STEP_WINDOW) {
      return refused(tooFarAhead(id));
    }
    Optional<Long> before = window.waitingStep(id.worker());
    if (before.isPresent()) {
      return before.get() > id.step() ? answered(id, Outcome.DUPLICATE) : hasty(id, before.get());
    }
    if (update.version() > context.store().version() && !catchUp(update)) {
      return refused(fromTheFuture(update));
    }
    if (context.store().version() >= context.lastVersion()) {
      ledger.dealtWith(id, Outcome.FINISHED);
      return answered(id, Outcome.FINISHED);
    }
    if (!bound.admits(update.gradient())) {
      ledger.turnedAway(id);
      return refused(bound.refusal(id, update.gradient()));
    }
    return holdsBack() ? hold(update) : handOn(update);
  }

  private boolean holdsBack() {
    return context.store().version() >= testAt;
  }

  private Future<Frame> hold(GradientPartition update) {
    Held waits = new Held(update.retain(), Promise.promise());
    held.add(waits);
    window.await(update.id(), waits.promise().future());
    return waits.promise().future();
  }

  private static boolean isMember(ExchangeId id, Membership now) {
    return now.hasWorker(id.worker(), id.incarnation());
  }

  /**
   * Skips to the version of a gradient, if this partition was restored: after a crash, workers have
   * seen versions that the checkpoint lacks, and those updates are lost.
   */
  private boolean catchUp(GradientPartition update) {
    boolean seen = context.store().isRestored() && update.version() <= context.lastVersion();
    if (seen) {
      context.store().skipTo(update.version());
      strategy.versionSkipped();
    }
    return seen;
  }

  private Future<Frame> handOn(GradientPartition update) {
    ExchangeId id = update.id();
    Future<Frame> answer = strategy.exchange(strategy.borrows() ? update : update.retain());
    if (!answer.isComplete()) {
      window.await(id, answer);
      if (strategy.appliesAtOnce()) {
        window.settle(id);
        ledger.dealtWith(id, Outcome.APPLIED);
      }
    }
    return answer.onComplete(result -> settle(id, result));
  }

  private void settle(ExchangeId id, AsyncResult<Frame> result) {
    window.release(id);
    if (result.result() instanceof ParameterPartition answer) {
      if (id.worker() < context.ranks() || membership.hasWorker(id.worker(), id.incarnation())) {
        window.settle(id);
      }
      ledger.dealtWith(id, answer.outcome());
      observer.answered(id, answer.outcome(), answer.staleness());
    } else if (result.result() instanceof Refusal refusal) {
      tell(refusal);
    } else {
      observer.refused(id, "defect in the strategy: " + result.cause());
    }
  }

  private Future<Frame> answered(ExchangeId id, Outcome outcome) {
    observer.answered(id, outcome, 0);
    return Future.succeededFuture(context.answers().parameters(id, outcome, 0));
  }

  private Future<Frame> refused(Refusal refusal) {
    tell(refusal);
    return Future.succeededFuture(refusal);
  }

  private void tell(Refusal refusal) {
    if (refusal.reason() == Reason.STALE_INCARNATION) {
      observer.outdated(refusal.id(), refusal.message());
    } else if (refusal.reason() != Reason.UNAVAILABLE) {
      observer.refused(refusal.id(), refusal.message());
    }
  }

  private Future<Frame> hasty(ExchangeId id, long before) {
    return refused(
        new Refusal(
            id,
            Reason.PROTOCOL,
            "partition %d: found step %d of worker %d while its step %d still waits; repeat that"
                .formatted(id.partition(), id.step(), id.worker(), before)));
  }

  private Refusal tooFarAhead(ExchangeId id) {
    long next = window.nextStep(id.worker());
    return new Refusal(
        id,
        Reason.PROTOCOL,
        "partition %d: found step %d of worker %d, expected %d, or at most %d after refused ones"
            .formatted(id.partition(), id.step(), id.worker(), next, next + STEP_WINDOW));
  }

  private Refusal fromTheFuture(GradientPartition update) {
    return new Refusal(
        update.id(),
        Reason.PROTOCOL,
        ("partition %d: found a gradient of worker %d at version %d, expected at most %d; was this"
                + " shard lost without a checkpoint?")
            .formatted(
                update.id().partition(),
                update.id().worker(),
                update.version(),
                context.store().version()));
  }

  /**
   * Checks whether a gradient is meant for this partition and was sent by a member of the job.
   *
   * @param job hash of the job's name
   * @param layout hash of the parameter layout
   * @param partition the partition
   */
  private record AdmissionCheck(long job, long layout, Partition partition) {

    /** Returns the refusal for a gradient; empty if it is admitted. */
    Optional<Refusal> refusal(GradientPartition update, Membership membership) {
      return misdirected(update).or(() -> unknownSender(update.id(), membership));
    }

    private Optional<Refusal> misdirected(GradientPartition update) {
      if (update.id().job() != job) {
        return wrong(update, "job", hex(update.id().job()), hex(job));
      }
      if (update.layout() != layout) {
        return wrong(update, "layout", hex(update.layout()), hex(layout));
      }
      if (update.firstElement() != partition.first()) {
        return wrong(update, "first element", update.firstElement(), partition.first());
      }
      if (update.gradient().length() != partition.length()) {
        return wrong(update, "length", update.gradient().length(), partition.length());
      }
      return Optional.empty();
    }

    private Optional<Refusal> unknownSender(ExchangeId id, Membership membership) {
      Optional<Member> member = membership.worker(id.worker());
      int known = member.map(Member::incarnation).orElse(-1);
      if (known == id.incarnation()) {
        return Optional.empty();
      }
      boolean ahead = id.epoch() > membership.epoch() || known >= 0 && known < id.incarnation();
      String message =
          "partition %d: found worker %d of incarnation %d, expected %s as of membership epoch %d; %s"
              .formatted(
                  partition.index(),
                  id.worker(),
                  id.incarnation(),
                  known < 0 ? "nobody of this rank" : "incarnation " + known,
                  membership.epoch(),
                  ahead ? "news of it is on its way, try again" : "join again");
      Reason reason = ahead ? Reason.UNAVAILABLE : Reason.STALE_INCARNATION;
      return Optional.of(new Refusal(id, reason, message));
    }

    private Optional<Refusal> wrong(
        GradientPartition update, String what, Object found, Object expected) {
      return Optional.of(
          new Refusal(
              update.id(),
              Reason.WRONG_LAYOUT,
              "partition %d: found %s %s from worker %d, expected %s; use the same job file and model"
                  .formatted(partition.index(), what, found, update.id().worker(), expected)));
    }

    private static String hex(long hash) {
      return "%016x".formatted(hash);
    }
  }
}
