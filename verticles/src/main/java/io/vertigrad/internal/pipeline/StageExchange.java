package io.vertigrad.internal.pipeline;

import io.vertigrad.internal.exchange.FutureAwait;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.worker.Incarnation;
import io.vertigrad.internal.worker.ParameterExchange;
import io.vertigrad.internal.worker.StrategyExchange;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The exchange of one incarnation of a stage: that of its replicas, in which a step may begin only
 * while every other stage is there. The stages of replica 0 test versions together, unless an
 * evaluator does.
 */
final class StageExchange implements ParameterExchange {

  private static final long CLOSE_NANOS = 2_000_000_000;

  private final StageContext context;
  private final Incarnation self;
  private final StageGroup group;
  private final StrategyExchange replicas;
  private final Optional<PipelineEvaluation> evaluation;

  /**
   * Creates an exchange that is not open yet.
   *
   * @param replicas the exchange with the other replicas of this stage
   */
  StageExchange(
      StageContext context,
      Incarnation self,
      StageReplica replica,
      StageGroup group,
      StrategyExchange replicas) {
    this.context = context;
    this.self = self;
    this.group = group;
    this.replicas = replicas;
    JobConfig job = context.job();
    boolean first = job.pipeline().orElseThrow().replicaOf(self.identity().rank()) == 0;
    evaluation =
        job.stagesTest() && first
            ? Optional.of(
                new PipelineEvaluation(
                    context, replica.model(), group.neighbours(job, context.nanoClock())))
            : Optional.empty();
  }

  @Override
  public void open() {
    replicas.open();
    FutureAwait.await(group.open().map(opened -> true), self.stop())
        .orElseThrow(() -> new GroupChangedException("this incarnation has ended"));
  }

  @Override
  public void membershipChanged(Membership now) {
    group.membershipChanged(now);
    replicas.membershipChanged(now);
  }

  @Override
  public void wake() {
    group.wake();
    replicas.wake();
  }

  @Override
  public State state() {
    State state = replicas.state();
    boolean alone = state.status() == Status.READY && !group.isComplete();
    return alone ? new State(Status.WAITING, state.version()) : state;
  }

  @Override
  public Fetch fetch(long step) {
    Fetch fetch = replicas.fetch(step);
    boolean settled = replicas.state().status() == Status.READY;
    return !settled || test() ? fetch : new Fetch(Ending.ABANDONED, 0, 0);
  }

  @Override
  public Step exchange(long step, Computation gradient) {
    Step taken = replicas.exchange(step, gradient);
    if (taken.ending() != Ending.COMPLETE) {
      return taken;
    }
    return test() ? taken.plus(group.traffic()) : Step.without(Ending.ABANDONED);
  }

  /** Tests the version that was reached if a test is due. Returns false if a stage has gone. */
  private boolean test() {
    try {
      long version = replicas.state().version();
      evaluation.ifPresent(stages -> stages.after(version));
      return true;
    } catch (GroupChangedException changed) {
      return false;
    }
  }

  /** The version of an early end is tested, too; a later one was tested when it was reached. */
  @Override
  public boolean offer(long version, boolean last) {
    boolean offered = group.isComplete() && replicas.offer(version, last);
    if (offered && last && version < context.lastVersion()) {
      evaluation.ifPresent(stages -> stages.end(version));
    }
    return offered;
  }

  @Override
  public void awaitChange(long version) {
    replicas.awaitChange(version);
  }

  @Override
  public Future<Path> checkpoint() {
    return replicas.checkpoint();
  }

  @Override
  public Report report() {
    return replicas.report();
  }

  @Override
  public void close() {
    long limit = System.nanoTime() + CLOSE_NANOS;
    Future<?> closed = group.close().otherwiseEmpty();
    replicas.close();
    FutureAwait.await(closed, () -> System.nanoTime() > limit);
  }
}
