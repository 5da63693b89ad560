package io.vertigrad.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.job.Partition;

/**
 * Creates answers about one partition.
 *
 * @param layout hash of the parameter layout
 * @param server incarnation of the server
 * @param partition the partition
 * @param store its parameters
 */
public record Answers(long layout, int server, Partition partition, PartitionStore store) {

  /**
   * Creates an answer with the current parameters.
   *
   * @param id the update that is answered
   * @param outcome result of the update
   * @param staleness number of versions between the parameters that it was computed on and those it
   *     was applied to
   * @return the frame
   */
  public ParameterPartition parameters(ExchangeId id, Outcome outcome, int staleness) {
    return new ParameterPartition(
        id, layout, server, store.version(), staleness, outcome, partition.first(), store.lend());
  }

  /**
   * Creates an answer with the parameters of an earlier version, for a worker that repeats a step.
   *
   * @param id the request that is answered
   * @param version of these parameters
   * @param parameters of the partition at that version
   * @return the frame
   */
  public ParameterPartition parameters(ExchangeId id, long version, Tensor parameters) {
    return new ParameterPartition(
        id, layout, server, version, 0, Outcome.PULLED, partition.first(), parameters);
  }
}
