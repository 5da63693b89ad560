package io.vertigrad.internal.pipeline;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.exchange.ParameterReader;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.exchange.PartitionClient;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyTraits;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Reads the whole model from the stages of replica 0: all parts of one version, never a mixture.
 * Used on the model's thread.
 */
public final class AssembledStages implements ParameterReader {

  private static final int TRIES = 100;

  private final ParameterReader stages;

  private AssembledStages(ParameterReader stages) {
    this.stages = stages;
  }

  /**
   * Returns the reader that fits a job, with or without a pipeline.
   *
   * @param exchange reads from servers, stages or workers
   * @param config what the model was built from
   * @param events receives events about averages
   * @param local scores the model for each worker's own parameters; {@link Score#NONE} to skip that
   */
  public static ModelReader reader(
      PartitionClient exchange,
      JobConfig job,
      StrategyTraits traits,
      ModelConfig config,
      Model model,
      Consumer<TrainingEvent> events,
      Supplier<Score> local) {
    if (job.pipeline().isEmpty()) {
      return ModelReader.of(exchange, job, traits, model, events, local);
    }
    StagePlan plan = StagePlan.of(job, StagePlan.split(job, config));
    ParameterReader stages = ParameterReader.of(exchange, job, plan.partitions(), model);
    return new ModelReader(
        new AssembledStages(stages),
        now -> exchange.membershipChanged(asServers(now)),
        exchange::wake);
  }

  /**
   * Returns a membership in which stages take the place of servers: a stage serves its parameters
   * as the server of its rank would.
   */
  private static Membership asServers(Membership now) {
    return new Membership(now.epoch(), now.workers(), now.workers());
  }

  @Override
  public Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop) {
    long wanted = minimumVersion;
    for (int i = 0; i < TRIES; i++) {
      Optional<ParameterSnapshot> pulled = stages.pull(wanted, stop);
      if (pulled.isEmpty() || pulled.get().consistent()) {
        return pulled;
      }
      wanted = pulled.get().highestVersion();
    }
    throw new ExchangeException(
        "the stages showed different versions %s times in a row: raise evaluator.every"
            .formatted(TRIES));
  }
}
