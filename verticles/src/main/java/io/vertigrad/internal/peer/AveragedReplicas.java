package io.vertigrad.internal.peer;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.ExchangeException.UnansweredException;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.ParameterHash;
import io.vertigrad.internal.exchange.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionExchange.Ending;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.PullRound;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.SnapshotSource;
import io.vertigrad.internal.exchange.WindowedExchange;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The mean of all workers' parameters and statistics in a job without servers: {@code sum_i x_i /
 * N}, in rank order. It also reports how far the workers are from the mean.
 *
 * <p>Belongs to the model's thread, except {@link #membershipChanged}.
 */
final class AveragedReplicas implements SnapshotSource {

  private final JobConfig job;
  private final Model model;
  private final WindowedExchange exchange;
  private final List<Partition> partitions;
  private final ModelPartitions parameters;
  private final Consumer<TrainingEvent> events;
  private final Supplier<Score> local;
  private volatile Membership membership = Membership.NONE;
  private long pulls;

  /**
   * Creates a mean without any workers.
   *
   * @param local scores the model with each worker's own parameters, if the current parameters are
   *     pulled; returns {@link Score#NONE} to skip this
   */
  AveragedReplicas(
      WindowedExchange exchange,
      JobConfig job,
      PartitionPlan plan,
      Model model,
      Consumer<TrainingEvent> events,
      Supplier<Score> local) {
    this.exchange = exchange;
    this.job = job;
    this.model = model;
    this.partitions = plan.partitions();
    this.parameters = new ModelPartitions(model, job.exchange().type());
    this.events = events;
    this.local = local;
  }

  /** Sets the new membership. Each worker serves its parameters at the address of a server. */
  void membershipChanged(Membership now) {
    membership = now;
    exchange.membershipChanged(new Membership(now.epoch(), now.workers(), now.workers()));
  }

  @Override
  public Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop) {
    ReplicaMean mean = new ReplicaMean(model.layout().length());
    Score own = Score.NONE;
    long lowest = Long.MAX_VALUE;
    long highest = 0;
    for (Membership.Member worker : membership.workers()) {
      PartitionPlan plan = planOf(worker.rank());
      PartitionVersions versions = new PartitionVersions(plan);
      Ending ending = exchange.run(round(plan, versions, minimumVersion, worker, stop));
      if (ending == Ending.COMPLETE) {
        mean.add(vector());
        own = minimumVersion == 0 ? own.plus(local.get()) : own;
        lowest = Math.min(lowest, versions.lowest());
        highest = Math.max(highest, versions.highest());
      } else if (stop.getAsBoolean()) {
        return Optional.empty();
      }
    }
    requireSome(mean);
    model.writeParameters(0, FloatBuffer.wrap(mean.mean()));
    double accuracy = own.samples() == 0 ? Double.NaN : own.accuracy();
    events.accept(
        new ReplicasAveraged(
            System.currentTimeMillis(), lowest, mean.count(), mean.consensusDistance(), accuracy));
    return Optional.of(new ParameterSnapshot(lowest, highest, ParameterHash.of(model)));
  }

  private void requireSome(ReplicaMean mean) {
    if (mean.count() == 0) {
      throw new UnansweredException(
          "no worker of membership epoch %d is left to read parameters from"
              .formatted(membership.epoch()));
    }
  }

  /** Returns a round that is abandoned if the worker leaves meanwhile. */
  private PullRound round(
      PartitionPlan plan,
      PartitionVersions versions,
      long minimumVersion,
      Membership.Member worker,
      BooleanSupplier stop) {
    return new PullRound(
        plan,
        parameters,
        versions,
        SenderIdentity.reader(job.addresses().jobHash()),
        membership.epoch(),
        pulls++,
        minimumVersion,
        () -> stop.getAsBoolean() || !membership.hasWorker(worker.rank(), worker.incarnation()));
  }

  private PartitionPlan planOf(int rank) {
    return new PartitionPlan(
        model.layout().hash(),
        partitions.stream()
            .map(p -> new Partition(p.index(), p.first(), p.length(), p.kind(), rank))
            .toList());
  }

  private float[] vector() {
    float[] vector = new float[model.layout().length()];
    model.readParameters(0, FloatBuffer.wrap(vector));
    return vector;
  }
}
