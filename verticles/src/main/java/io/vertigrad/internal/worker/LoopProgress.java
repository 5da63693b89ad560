package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.exchange.TrafficCounters;
import java.util.Map;

/**
 * A training loop's counters since its worker was admitted.
 *
 * @param rank rank of the worker; -1 before it is admitted
 * @param incarnation incarnation of that rank
 * @param step number of steps that the rank has taken, including those of earlier incarnations
 * @param version highest version seen
 * @param epoch epoch of the last batch
 * @param samples number of training samples behind the applied gradients, according to the answers;
 *     a gradient that was applied but whose answer was lost is not counted
 * @param lossSum sum of the batch mean loss over those samples
 * @param correct number of those samples that were classified correctly; a sample with several
 *     answers adds the share of right answers; -1 where the model does not report it
 * @param secondsComputing time spent computing gradients
 * @param secondsExchanging time from a gradient to the next parameters
 * @param secondsWaitingForData time spent waiting for the next batch
 * @param bytesSent payload of gradients
 * @param bytesSaved how much larger that payload would have been as float32
 * @param bytesReceived payload of parameters
 * @param refused number of gradients that were left out because they were not finite
 * @param staleness number of gradients applied at each staleness; a gradient's staleness is the
 *     largest of its partitions
 * @param sentTo {@code bytesSent} per partner, with the keys of {@link TrafficCounters}
 * @param receivedFrom {@code bytesReceived} per partner, with the same keys
 */
public record LoopProgress(
    int rank,
    int incarnation,
    long step,
    long version,
    int epoch,
    long samples,
    double lossSum,
    double correct,
    double secondsComputing,
    double secondsExchanging,
    double secondsWaitingForData,
    long bytesSent,
    long bytesSaved,
    long bytesReceived,
    long refused,
    Map<Integer, Long> staleness,
    Map<Integer, Long> sentTo,
    Map<Integer, Long> receivedFrom) {

  public LoopProgress {
    staleness = Map.copyOf(staleness);
    sentTo = Map.copyOf(sentTo);
    receivedFrom = Map.copyOf(receivedFrom);
  }

  /** The counters of a worker that has not been admitted. */
  public static final LoopProgress NONE =
      new LoopProgress(-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), Map.of(), Map.of());

  /**
   * Returns the mean training loss between an earlier snapshot of the same incarnation and this
   * one. If no samples were applied in between, returns the mean over all samples.
   */
  public double lossSince(LoopProgress earlier) {
    boolean same =
        earlier.rank == rank && earlier.incarnation == incarnation && earlier.samples < samples;
    long count = same ? samples - earlier.samples : samples;
    double sum = same ? lossSum - earlier.lossSum : lossSum;
    return count == 0 ? 0 : sum / count;
  }

  /** Returns the training accuracy in percent over the same span; NaN where it is unknown. */
  public double accuracySince(LoopProgress earlier) {
    boolean same =
        earlier.rank == rank && earlier.incarnation == incarnation && earlier.samples < samples;
    long count = same ? samples - earlier.samples : samples;
    double right = same ? correct - earlier.correct : correct;
    return correct < 0 || count == 0 ? Double.NaN : 100.0 * right / count;
  }

  /** Returns the counters as an event; its loss and accuracy are those since {@code earlier}. */
  public WorkerProgress toEvent(long timeMillis, LoopProgress earlier) {
    return new WorkerProgress(
        timeMillis,
        rank,
        incarnation,
        step,
        version,
        epoch,
        samples,
        lossSince(earlier),
        accuracySince(earlier),
        secondsComputing,
        secondsExchanging,
        secondsWaitingForData,
        bytesSent,
        bytesSaved,
        bytesReceived,
        staleness,
        sentTo,
        receivedFrom);
  }
}
