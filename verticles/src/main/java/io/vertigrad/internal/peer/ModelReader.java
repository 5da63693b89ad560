package io.vertigrad.internal.peer;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ReplicasAveraged;
import io.vertigrad.internal.exchange.ModelPartitions;
import io.vertigrad.internal.exchange.ParameterReader;
import io.vertigrad.internal.exchange.ParameterReader.ParameterHash;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.exchange.PartitionClient.Ending;
import io.vertigrad.internal.exchange.PartitionClient.PullRound;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyTraits;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reads a job's model from its servers or, if it has none, from its workers.
 *
 * @param source loads parameters into the model
 * @param membership receives the new membership
 * @param wake wakes a waiting pull, so that it checks whether it is still wanted
 */
public record ModelReader(ParameterReader source, Consumer<Membership> membership, Runnable wake) {

  /**
   * Returns the reader that fits a job's strategy.
   *
   * @param client sends requests to servers or workers
   * @param events receives an event for each mean
   * @param local scores the model with each worker's own parameters; {@link Score#NONE} to skip
   *     this
   */
  public static ModelReader of(
      PartitionClient client,
      JobConfig job,
      StrategyTraits traits,
      Model model,
      Consumer<TrainingEvent> events,
      Supplier<Score> local) {
    PartitionPlan plan = PartitionPlan.of(job, model.layout());
    if (!traits.besideServers()) {
      AveragedReplicas replicas = new AveragedReplicas(client, job, plan, model, events, local);
      return new ModelReader(replicas, replicas::membershipChanged, client::wake);
    }
    return new ModelReader(
        ParameterReader.of(client, job, plan, model), client::membershipChanged, client::wake);
  }

  /**
   * The mean of all workers' parameters and statistics in a job without servers: {@code sum_i x_i /
   * N}, in rank order. It also reports how far the workers are from the mean.
   *
   * <p>Belongs to the model's thread, except {@link #membershipChanged}.
   */
  private static final class AveragedReplicas implements ParameterReader {

    private final JobConfig job;
    private final Model model;
    private final PartitionClient client;
    private final List<Partition> partitions;
    private final ModelPartitions parameters;
    private final Consumer<TrainingEvent> events;
    private final Supplier<Score> local;
    private volatile Membership membership = Membership.NONE;
    private long pulls;

    /**
     * Creates a mean without any workers.
     *
     * @param local scores the model with each worker's own parameters, if the current parameters
     *     are pulled; returns {@link Score#NONE} to skip this
     */
    AveragedReplicas(
        PartitionClient client,
        JobConfig job,
        PartitionPlan plan,
        Model model,
        Consumer<TrainingEvent> events,
        Supplier<Score> local) {
      this.client = client;
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
      client.membershipChanged(new Membership(now.epoch(), now.workers(), now.workers()));
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
        Ending ending = client.run(round(plan, versions, minimumVersion, worker, stop));
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
              System.currentTimeMillis(),
              lowest,
              mean.count(),
              mean.consensusDistance(),
              accuracy));
      return Optional.of(new ParameterSnapshot(lowest, highest, ParameterHash.of(model)));
    }

    private void requireSome(ReplicaMean mean) {
      if (mean.count() == 0) {
        throw new UnansweredException(
            "no worker of membership epoch %s is left to read parameters from"
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

  /**
   * Computes the mean of vectors and their distance from it in one pass. For equal vectors the mean
   * is exactly that vector and the distance is 0.
   */
  static final class ReplicaMean {

    private final float[] first;
    private final double[] sum;
    private double squares;
    private int count;

    ReplicaMean(int length) {
      first = new float[length];
      sum = new double[length];
    }

    void add(float[] vector) {
      if (count++ == 0) {
        System.arraycopy(vector, 0, first, 0, first.length);
        return;
      }
      for (int i = 0; i < sum.length; i++) {
        double difference = (double) vector[i] - first[i];
        sum[i] += difference;
        squares += difference * difference;
      }
    }

    int count() {
      return count;
    }

    float[] mean() {
      float[] mean = new float[first.length];
      for (int i = 0; i < mean.length; i++) {
        mean[i] = (float) (first[i] + sum[i] / count);
      }
      return mean;
    }

    /** Returns {@code sqrt(sum_i |x_i - mean|^2 / N)}. */
    double consensusDistance() {
      double ofMean = 0;
      for (double difference : sum) {
        ofMean += difference * difference;
      }
      return Math.sqrt(Math.max(0, (squares - ofMean / count) / count));
    }
  }
}
