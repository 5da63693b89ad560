package io.vertigrad.internal.worker;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;

/**
 * A worker's work in a job without servers: agrees with its peers, then batch, gradient and
 * exchange, and after the last step stays for those who still have some.
 */
final class PeerTrainingLoop extends PeerTask<PeerSession> {

  private final PeerTrainingPlan plan;
  private final BatchesOfRank batches;
  private final PeerReplica replica;
  private volatile PeerExchange exchange;

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
      SpanRecorder track) {}

  /**
   * @param data opens the batches of a rank; closed by the loop
   */
  PeerTrainingLoop(
      PeerTrainingPlan plan, Model model, JoinRequester requester, IntFunction<BatchSource> data) {
    super(requester, plan.training().job());
    this.plan = plan;
    this.batches = new BatchesOfRank(data);
    this.replica = new PeerReplica(model, plan);
  }

  @Override
  public boolean run() {
    try (batches) {
      return super.run();
    }
  }

  @Override
  public List<TrainingEvent> news() {
    PeerExchange known = exchange;
    return known == null ? List.of() : List.of(known);
  }

  @Override
  protected PeerSession prepare(SenderIdentity identity, StepGate gate, BooleanSupplier stop) {
    return new PeerSession(plan, replica, identity, gate, stop);
  }

  @Override
  protected void work(PeerSession session, int rank) {
    session.run(batches.of(rank), this::publish);
  }

  @Override
  protected boolean finished() {
    return replica.vector().updates() >= plan.training().lastVersion();
  }

  @Override
  protected double samples() {
    return replica.vector().samples();
  }

  @Override
  protected void publish(PeerSession from) {
    exchange = from.exchange();
    super.publish(from);
  }
}
