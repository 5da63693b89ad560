package io.vertigrad.internal.worker;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.PartitionExchange;
import io.vertigrad.internal.exchange.PartitionExchange.Ending;
import io.vertigrad.internal.exchange.PartitionVersions;
import io.vertigrad.internal.exchange.PullRound;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.job.Partition;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** One incarnation of a worker, from its first pull to its last step. */
final class TrainingSession {

  private static final int REFUSALS_UNTIL_DIVERGED = 20;

  private final Model model;
  private final TrainingPlan plan;
  private final PartitionExchange exchange;
  private final long firstVersion;
  private final LongSupplier nanoClock;
  private final SpanRecorder track;
  private final BooleanSupplier stop;
  private final ModelPartitions parameters;
  private final PartitionVersions versions;
  private final GradientRound.Replica replica;
  private final WorkerCounters counters;
  private long step;
  private int refusalsInARow;

  /**
   * @param firstVersion version to start from, when every partition has reached it
   * @param epochs is told of each epoch that the worker has been through
   * @param stop becomes true when this incarnation is to end
   */
  TrainingSession(
      Model model,
      TrainingPlan plan,
      PartitionExchange exchange,
      SenderIdentity identity,
      long firstVersion,
      LongSupplier nanoClock,
      SpanRecorder track,
      Consumer<EpochTrained> epochs,
      BooleanSupplier stop) {
    this.model = model;
    this.plan = plan;
    this.exchange = exchange;
    this.firstVersion = firstVersion;
    this.nanoClock = nanoClock;
    this.track = track;
    this.stop = stop;
    this.parameters = new ModelPartitions(model, plan.type());
    this.versions = new PartitionVersions(plan.partitions());
    this.replica =
        new GradientRound.Replica(
            identity,
            plan.partitions().layout(),
            new OutgoingGradient(model, parameters, plan),
            parameters,
            versions);
    this.counters = new WorkerCounters(identity, plan.epochs(), epochs);
  }

  /** Fetches the parameters to start from, in lockstep those of the first round to take part in. */
  Ending pull() {
    Ending ending =
        exchange.run(
            new PullRound(
                plan.partitions(),
                parameters,
                versions,
                replica.identity(),
                exchange.epoch(),
                step,
                firstVersion,
                stop));
    counters.pulled(versions.highest());
    return ending;
  }

  boolean interrupted() {
    return stop.getAsBoolean();
  }

  boolean finished() {
    return version() >= plan.lastVersion();
  }

  /** That all partitions have reached; in lockstep the next round. */
  long version() {
    return versions.lowest();
  }

  /** True once a step was taken and answered. */
  boolean fruitful() {
    return counters.snapshot().step() > 0;
  }

  LoopProgress progress() {
    return counters.snapshot();
  }

  /**
   * Takes one step: batch, gradient, exchange.
   *
   * <p>A gradient that is not finite everywhere is applied nowhere: only the first partition that
   * breaks it is offered, for a server to refuse and count. In lockstep the round stays open for
   * the next batch; otherwise the others have moved on meanwhile, and this worker catches up.
   */
  Ending step(BatchSource batches) {
    long start = nanoClock.getAsLong();
    Batch batch = batches.next();
    long ready = nanoClock.getAsLong();
    counters.waited(ready - start);
    double loss = model.gradient(batch);
    Optional<Partition> broken = replica.gradient().computed();
    long computed = nanoClock.getAsLong();
    counters.computed(batch.epoch(), computed - ready);
    GradientRound round = round(broken, batch.count());
    Ending ending = exchange.run(round);
    long ended = nanoClock.getAsLong();
    track.span("data", start, ready, step);
    track.span("compute", ready, computed, step);
    round.note(computed, ended);
    step++;
    if (ending != Ending.COMPLETE) {
      return ending;
    }
    counters.exchanged(round, loss, model.correct(), versions.highest(), ended - computed);
    counters.took(ended - start);
    watchDivergence(round, loss);
    return broken.isEmpty() || plan.lockstep() ? ending : pull();
  }

  private GradientRound round(Optional<Partition> broken, int samples) {
    List<Partition> order = broken.map(List::of).orElseGet(versions::oldestFirst);
    return new GradientRound(replica, order, exchange.epoch(), step, samples, track, stop);
  }

  private void watchDivergence(GradientRound round, double loss) {
    refusalsInARow = round.refusal().isPresent() ? refusalsInARow + 1 : 0;
    if (refusalsInARow >= REFUSALS_UNTIL_DIVERGED) {
      throw new ExchangeException(
          ("worker %d: training diverged: %d gradients in a row were refused, the last at step %d"
                  + " (loss %s): %s. Lower optimizer.learningRate or set optimizer.clipNorm")
              .formatted(
                  replica.identity().rank(),
                  refusalsInARow,
                  step,
                  loss,
                  round.refusal().get().message()));
    }
  }
}
