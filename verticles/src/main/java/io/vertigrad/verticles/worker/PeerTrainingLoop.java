package io.vertigrad.verticles.worker;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.metrics.TrainingEvent.PeerExchange;
import io.vertigrad.verticles.strategy.Membership;
import io.vertigrad.verticles.strategy.decentral.PeerStrategyFactory;
import io.vertigrad.verticles.timeline.Track;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;

/**
 * A worker's work in a job without servers: joins, agrees with its peers, then batch, gradient and
 * exchange, and after the last step stays for those who still have some.
 */
final class PeerTrainingLoop implements Work {

  private final PeerTrainingPlan plan;
  private final Enrolment enrolment;
  private final BatchesOfRank batches;
  private final PeerReplica replica;
  private volatile boolean stopping;
  private volatile Identity evicted;
  private volatile Membership newest = Membership.NONE;
  private volatile PeerSession session;
  private volatile LoopProgress progress = LoopProgress.NONE;
  private volatile PeerExchange exchange;
  private volatile long samples;

  /**
   * What a loop needs of its surroundings.
   *
   * @param trainingSamples size of the training set
   * @param patience monotonic nanoseconds that limit how long it waits for others
   * @param track notes what the worker does
   */
  record PeerTrainingPlan(
      Vertx vertx,
      JobConfig job,
      TrainingPlan training,
      PeerStrategyFactory strategy,
      long trainingSamples,
      LongSupplier nanoClock,
      LongSupplier patience,
      Track track) {}

  /**
   * @param data opens the batches of a rank; closed by the loop
   */
  PeerTrainingLoop(
      PeerTrainingPlan plan, Model model, Enrolment enrolment, IntFunction<BatchSource> data) {
    this.plan = plan;
    this.enrolment = enrolment;
    this.batches = new BatchesOfRank(data);
    this.replica = new PeerReplica(model, plan);
  }

  @Override
  public boolean run() {
    try (batches) {
      while (!stopping) {
        Optional<Membership.Member> member = enrolment.join();
        if (member.isEmpty()) {
          return finished();
        }
        work(member.get());
      }
      return finished();
    }
  }

  /** Tells who takes part from now on. */
  void membershipChanged(Membership now) {
    newest = now;
    PeerSession running = session;
    if (running != null) {
      running.membershipChanged(now);
    }
  }

  @Override
  public void stop() {
    stopping = true;
    wake();
  }

  @Override
  public void evicted(int rank, int incarnation) {
    evicted = identity(rank, incarnation);
    wake();
  }

  @Override
  public LoopProgress progress() {
    return progress;
  }

  @Override
  public long samplesOfAll() {
    return samples;
  }

  @Override
  public List<TrainingEvent> news() {
    PeerExchange known = exchange;
    return known == null ? List.of() : List.of(known);
  }

  private void work(Membership.Member member) {
    Identity identity = identity(member.rank(), member.incarnation());
    PeerSession starting =
        new PeerSession(
            plan, replica, identity, enrolment.gate(), () -> stopping || identity.equals(evicted));
    session = starting;
    try {
      starting.open();
      starting.membershipChanged(newest);
      starting.run(batches.of(member.rank()), this::publish);
    } finally {
      publish(starting);
      session = null;
      starting.close();
    }
  }

  private void publish(PeerSession from) {
    samples = Math.round(replica.vector().samples());
    exchange = from.exchange();
    progress = from.progress();
  }

  private boolean finished() {
    return replica.vector().updates() >= plan.training().lastVersion();
  }

  private void wake() {
    PeerSession running = session;
    if (running != null) {
      running.wake();
    }
  }

  private Identity identity(int rank, int incarnation) {
    return new Identity(plan.training().job(), rank, incarnation);
  }
}
