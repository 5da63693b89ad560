package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.internal.exchange.PartitionPlan.PartitionVersions;
import io.vertigrad.job.Partition;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * A round that pulls every partition into a model.
 *
 * @param plan the partitions
 * @param model receives the parameters
 * @param versions receives the version of each partition
 * @param sender identity of the reader
 * @param epoch membership epoch of the requests
 * @param step number of this pull, for the identity of its requests
 * @param minimumVersion answers wait until a partition has reached it; 0 for no wait
 * @param stop returns true when nobody wants the answers any more
 */
public record PullRound(
    PartitionPlan plan,
    ModelPartitions model,
    PartitionVersions versions,
    SenderIdentity sender,
    int epoch,
    long step,
    long minimumVersion,
    BooleanSupplier stop)
    implements PartitionRound {

  @Override
  public List<Partition> order() {
    return plan.partitions();
  }

  @Override
  public Frame request(Partition partition) {
    return new PullRequest(
        sender.exchange(epoch, step, partition.index()), plan.layout(), minimumVersion);
  }

  @Override
  public void answered(Partition partition, ParameterPartition answer) {
    model.write(partition, answer.parameters());
    versions.set(partition, answer.version());
  }

  @Override
  public boolean abandoned() {
    return stop.getAsBoolean();
  }
}
