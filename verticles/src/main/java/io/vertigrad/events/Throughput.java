package io.vertigrad.events;

import java.util.List;
import java.util.Map;

/**
 * How fast the workers were over one interval.
 *
 * @param timeMillis wall-clock time of its last event
 * @param workers those that reported progress, by rank
 */
public record Throughput(long timeMillis, List<WorkerRate> workers) {

  /**
   * Copies the list.
   *
   * @param timeMillis wall-clock time of its last event
   * @param workers those that reported progress, by rank
   */
  public Throughput {
    workers = List.copyOf(workers);
  }

  /**
   * One worker's share.
   *
   * @param step its last step
   * @param loss mean training loss it reported last
   * @param computing part of the time spent in gradients, 0 to 1
   * @param exchanging part of the time between a gradient and the next parameters, 0 to 1
   * @param waitingForData part of the time without a batch, 0 to 1
   * @param sentPerSecond bytes of gradients
   * @param receivedPerSecond bytes of parameters
   * @param sentTo {@code sentPerSecond} by shard, or by worker in a job without servers; beyond a
   *     few of them the others together, as -1
   * @param receivedFrom {@code receivedPerSecond} likewise
   */
  public record WorkerRate(
      int rank,
      int incarnation,
      long step,
      double loss,
      double samplesPerSecond,
      double computing,
      double exchanging,
      double waitingForData,
      double sentPerSecond,
      double receivedPerSecond,
      Map<Integer, Double> sentTo,
      Map<Integer, Double> receivedFrom) {}

  /**
   * Returns the samples that all workers together trained on.
   *
   * @return samples per second
   */
  public double samplesPerSecond() {
    return workers.stream().mapToDouble(WorkerRate::samplesPerSecond).sum();
  }
}
