package io.vertigrad.benchmarks.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.exchange.ModelPartitions;
import io.vertigrad.verticles.exchange.PartitionVersions;
import io.vertigrad.verticles.exchange.Round;
import io.vertigrad.verticles.job.Partition;
import io.vertigrad.verticles.job.PartitionPlan;
import java.util.List;

/** One round of a synthetic model: every gradient partition out, every parameter partition back. */
record SyntheticRound(
    PartitionPlan plan,
    ModelPartitions model,
    PartitionVersions versions,
    Identity sender,
    int epoch,
    long step)
    implements Round {

  @Override
  public List<Partition> order() {
    return versions.oldestFirst();
  }

  @Override
  public Frame request(Partition partition) {
    return new GradientPartition(
        sender.exchange(epoch, step, partition.index()),
        plan.layout(),
        versions.of(partition),
        1,
        partition.first(),
        model.gradient(partition));
  }

  @Override
  public void answered(Partition partition, ParameterPartition answer) {
    if (answer.outcome() != ParameterPartition.Outcome.APPLIED) {
      throw new IllegalStateException(
          "partition %d, step %d was answered %s, expected APPLIED"
              .formatted(partition.index(), step, answer.outcome()));
    }
    model.write(partition, answer.parameters());
    versions.set(partition, answer.version());
  }
}
