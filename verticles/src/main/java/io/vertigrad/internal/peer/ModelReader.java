package io.vertigrad.internal.peer;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.ParameterReader;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.exchange.SnapshotSource;
import io.vertigrad.internal.exchange.WindowedExchange;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PeerStrategyFactory;
import io.vertigrad.strategy.StrategyFactory;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reads a job's model from its servers or, if it has none, from its workers.
 *
 * @param source loads parameters into the model
 * @param membership receives the new membership
 * @param wake wakes a waiting pull, so that it checks whether it is still wanted
 */
public record ModelReader(SnapshotSource source, Consumer<Membership> membership, Runnable wake) {

  /**
   * Returns the reader that fits a job's strategy.
   *
   * @param exchange sends requests to servers or workers
   * @param events receives an event for each mean
   * @param local scores the model with each worker's own parameters; {@link Score#NONE} to skip
   *     this
   */
  public static ModelReader of(
      WindowedExchange exchange,
      JobConfig job,
      StrategyFactory strategy,
      Model model,
      Consumer<TrainingEvent> events,
      Supplier<Score> local) {
    PartitionPlan plan = PartitionPlan.of(job, model.layout());
    if (strategy instanceof PeerStrategyFactory) {
      AveragedReplicas replicas = new AveragedReplicas(exchange, job, plan, model, events, local);
      return new ModelReader(replicas, replicas::membershipChanged, exchange::wake);
    }
    return new ModelReader(
        ParameterReader.of(exchange, job, plan, model),
        exchange::membershipChanged,
        exchange::wake);
  }
}
