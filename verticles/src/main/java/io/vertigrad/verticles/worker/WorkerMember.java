package io.vertigrad.verticles.worker;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.verticles.coordinator.Admission;
import io.vertigrad.verticles.coordinator.CoordinatorClient;
import io.vertigrad.verticles.coordinator.MemberHandler;
import io.vertigrad.verticles.coordinator.Role;
import io.vertigrad.verticles.exchange.BusExchange;
import io.vertigrad.verticles.exchange.Rendezvous;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker's place in its job: passes on, between the verticle's context and the loop's thread, who
 * takes part and when to stop.
 */
final class WorkerMember implements MemberHandler, Enrolment {

  private static final Logger LOG = LoggerFactory.getLogger(WorkerMember.class);

  private final CoordinatorClient coordinator;
  private final Promise<Admission> admitted = Promise.promise();
  private volatile Duties duties;
  private volatile boolean stopping;

  private record Duties(ParameterLayout layout, BusExchange exchange, TrainingLoop loop) {}

  /** Made on the verticle's context. */
  WorkerMember(Vertx vertx, JobConfig job) {
    coordinator = new CoordinatorClient(vertx, job, Role.WORKER, this);
  }

  /** Whom to tell; before the loop runs. */
  void serve(ParameterLayout layout, BusExchange exchange, TrainingLoop loop) {
    duties = new Duties(layout, exchange, loop);
    if (stopping) {
      loop.stop();
    }
  }

  /** Completes with the first admission, or fails with whatever kept this worker from it. */
  Future<Admission> admitted() {
    return admitted.future();
  }

  /** The loop cannot run or has broken down; true when it had not been admitted yet. */
  boolean failed(Throwable why) {
    return admitted.tryFail(why);
  }

  @Override
  public Optional<Membership.Member> join() {
    Duties mine = duties;
    // A refused incarnation may not have been evicted yet: give it up before asking for the next.
    Future<Admission> joining =
        admitted.future().isComplete()
            ? coordinator.leave("joins again").transform(left -> coordinator.join(mine.layout()))
            : coordinator.join(mine.layout());
    Optional<Admission> admission = Rendezvous.await(joining, () -> stopping);
    if (admission.isEmpty()) {
      return Optional.empty();
    }
    LOG.info("{} admitted", admission.get());
    admitted.tryComplete(admission.get());
    return Rendezvous.await(coordinator.started(), () -> stopping)
        .flatMap(membership -> takePart(mine, membership, admission.get()));
  }

  private Optional<Membership.Member> takePart(
      Duties mine, Membership membership, Admission admission) {
    mine.exchange().membershipChanged(membership);
    return membership.worker(admission.rank());
  }

  /** Tells the loop to end, whatever it waits for. */
  void stop() {
    stopping = true;
    Duties mine = duties;
    if (mine != null) {
      mine.loop().stop();
    }
  }

  void report(LoopProgress progress, String event) {
    coordinator.report(
        new JsonObject()
            .put("version", progress.version())
            .put("step", progress.step())
            .put("event", event));
  }

  Future<Void> leave(String reason) {
    return coordinator.leave(reason);
  }

  @Override
  public void membershipChanged(Membership now) {
    duties.exchange().membershipChanged(now);
  }

  @Override
  public void evicted(String why) {
    LOG.warn("worker evicted, joins again: {}", why);
    duties.loop().evicted();
  }

  @Override
  public void stopped(String why) {
    LOG.info("worker told to stop: {}", why);
    stop();
  }
}
