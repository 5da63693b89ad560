package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.membership.Admission;
import io.vertigrad.internal.membership.CoordinatorClient;
import io.vertigrad.internal.membership.EvaluationResult;
import io.vertigrad.internal.membership.LeaveReason;
import io.vertigrad.internal.membership.MemberHandler;
import io.vertigrad.internal.membership.MemberStatus;
import io.vertigrad.internal.timeline.MemberTimeline;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An evaluator's membership of its job: passes membership, commands and stops to its loop. */
public final class EvaluatorMember implements MemberHandler {

  private static final Logger LOG = LoggerFactory.getLogger(EvaluatorMember.class);

  private final CoordinatorClient coordinator;
  private final Promise<Admission> admitted = Promise.promise();
  private volatile Handlers handlers;
  private final MemberTimeline timeline;
  private volatile boolean stopping;

  private record Handlers(
      ParameterLayout layout, Consumer<Membership> membership, EvaluationLoop loop) {}

  /** Creates the membership. Call it on the verticle's context. */
  public EvaluatorMember(Vertx vertx, JobConfig job) {
    coordinator = new CoordinatorClient(vertx, job, Role.EVALUATOR, this);
    timeline = MemberTimeline.of(vertx, job);
  }

  /**
   * Starts the thread that joins and tests.
   *
   * @return completes on that thread after it was told to stop
   */
  public Future<Void> start(Vertx vertx, JobConfig job, Consumer<TrainingEvent> events) {
    return new EvaluatorThread(vertx, job, this, events).start();
  }

  /** Completes with the first admission, or fails with the reason why there was none. */
  public Future<Admission> admitted() {
    return admitted.future();
  }

  /** Records that the loop failed. Returns true if the evaluator had not been admitted yet. */
  public boolean failAdmission(Throwable why) {
    return admitted.tryFail(why);
  }

  /** Sets the fingerprints of data and model files that joins show; any thread. */
  void show(Map<String, DataFingerprint> fingerprints) {
    coordinator.show(fingerprints);
  }

  /** Blocks the loop's thread until the job runs. Returns false if told to stop before. */
  boolean join(ParameterLayout layout, Consumer<Membership> membership, EvaluationLoop loop) {
    handlers = new Handlers(layout, membership, loop);
    Optional<Admission> admission = FutureAwait.await(coordinator.join(layout), () -> stopping);
    if (admission.isEmpty()) {
      return false;
    }
    LOG.info("{} admitted", admission.get());
    timeline.setMember("evaluator");
    admitted.tryComplete(admission.get());
    boolean first = admission.get().incarnation() == 0;
    Runnable initial = first ? loop.testInitial() : () -> {};
    boolean started = FutureAwait.await(coordinator.started(), () -> stopping).isPresent();
    if (started) {
      initial.run();
    }
    return started;
  }

  public void stop() {
    stopping = true;
    Handlers registered = handlers;
    if (registered != null) {
      registered.loop().stop();
    }
  }

  /** Returns the timeline that the loop records in; each test publishes it. */
  MemberTimeline timeline() {
    return timeline;
  }

  /** Returns the status that reports tests to the coordinator. */
  EvaluatorStatus status() {
    return new EvaluatorStatus(coordinator::report, coordinator::reportNow);
  }

  public Future<Void> leave(LeaveReason reason) {
    timeline.close();
    return coordinator.leave(reason);
  }

  @Override
  public void membershipChanged(Membership now) {
    handlers.membership().accept(now);
  }

  @Override
  public Future<EvaluationResult> evaluate() {
    return handlers.loop().testWhole();
  }

  @Override
  public Future<MemberStatus> handOver() {
    stop();
    return Future.succeededFuture(MemberStatus.NONE);
  }

  /** Pulls need no admission, so evaluation continues while the evaluator joins again. */
  @Override
  public void onEvicted(String why) {
    LOG.warn("evaluator evicted, joins again: {}", why);
    coordinator
        .join(handlers.layout())
        .onFailure(refused -> onStopped("evicted, and refused: " + refused.getMessage()));
  }

  @Override
  public void onStopped(String why) {
    LOG.info("evaluator told to stop: {}", why);
    stop();
  }
}
