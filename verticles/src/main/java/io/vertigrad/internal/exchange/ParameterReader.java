package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Model;
import io.vertigrad.internal.exchange.PartitionExchange.Ending;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.job.JobConfig;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Pulls the servers' newest parameters into a model, for evaluators and for saving.
 *
 * <p>Belongs to the model's thread.
 */
public final class ParameterReader implements SnapshotSource {

  private final PartitionExchange exchange;
  private final PartitionPlan plan;
  private final SenderIdentity identity;
  private final Model model;
  private final ModelPartitions partitions;
  private long pulls;

  /**
   * @param identity usually {@link SenderIdentity#reader(long)}
   */
  public ParameterReader(
      PartitionExchange exchange,
      PartitionPlan plan,
      SenderIdentity identity,
      Model model,
      ModelPartitions partitions) {
    this.exchange = exchange;
    this.plan = plan;
    this.identity = identity;
    this.model = model;
    this.partitions = partitions;
  }

  /** Creates a reader of a job's parameters. A reader does not have to join the job. */
  public static ParameterReader of(
      PartitionExchange exchange, JobConfig job, PartitionPlan plan, Model model) {
    return new ParameterReader(
        exchange,
        plan,
        SenderIdentity.reader(job.addresses().jobHash()),
        model,
        new ModelPartitions(model, job.exchange().type()));
  }

  /**
   * Pulls every partition once it has reached a version. Blocks.
   *
   * @return empty if {@code stop} became true or a server asks the reader to join again
   * @throws ExchangeException if a shard does not answer, or refuses
   */
  @Override
  public Optional<ParameterSnapshot> pull(long minimumVersion, BooleanSupplier stop) {
    PartitionVersions versions = new PartitionVersions(plan);
    Ending ending =
        exchange.run(
            new PullRound(
                plan,
                partitions,
                versions,
                identity,
                exchange.epoch(),
                pulls++,
                minimumVersion,
                stop));
    return ending == Ending.COMPLETE
        ? Optional.of(
            new ParameterSnapshot(versions.lowest(), versions.highest(), ParameterHash.of(model)))
        : Optional.empty();
  }
}
