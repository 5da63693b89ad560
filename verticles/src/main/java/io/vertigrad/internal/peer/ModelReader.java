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
 * A reader of a job's model, from its servers or, where it has none, from its workers.
 *
 * @param source brings parameters into the model
 * @param membership is told who takes part
 * @param wake makes a pull that waits look whether it is still wanted
 */
public record ModelReader(SnapshotSource source, Consumer<Membership> membership, Runnable wake) {

  /**
   * The reader that fits a job's strategy.
   *
   * @param exchange asks servers or workers
   * @param events is told of averages
   * @param local scores the model for each worker's own parameters; {@link Score#NONE} for not
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
