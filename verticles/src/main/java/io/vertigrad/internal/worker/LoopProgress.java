package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.exchange.TrafficCounters;
import java.util.Map;

/**
 * A training loop's counters since its worker was admitted.
 *
 * @param rank of the worker; -1 before it was admitted
 * @param incarnation of that rank
 * @param step steps that the rank has taken, its predecessors' included
 * @param version highest version seen
 * @param epoch of the last batch
 * @param samples training samples behind the gradients that were applied, as answers said; one that
 *     was applied but whose answer was lost is missing here
 * @param lossSum sum over those samples of their batch's mean loss
 * @param correct how many of those samples were classified correctly, of one with several answers
 *     the share that was right; -1 where the model cannot tell
 * @param secondsComputing time in gradients
 * @param secondsExchanging time from gradient to next parameters
 * @param secondsWaitingForData time until the next batch was there
 * @param bytesSent payload of gradients
 * @param bytesSaved by how much that is less than float32 would have been
 * @param bytesReceived payload of parameters
 * @param refused gradients that were left out because they were not finite
 * @param staleness how many gradients were applied at which staleness, the largest of a gradient's
 *     partitions
 * @param sentTo {@code bytesSent} by partner, as {@link TrafficCounters} names them
 * @param receivedFrom {@code bytesReceived} likewise
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

  /** Nothing yet. */
  public static final LoopProgress NONE =
      new LoopProgress(-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), Map.of(), Map.of());

  /**
   * Mean training loss between an earlier snapshot of the same incarnation and this one; over all
   * samples when none was applied in between.
   */
  public double lossSince(LoopProgress earlier) {
    boolean same =
        earlier.rank == rank && earlier.incarnation == incarnation && earlier.samples < samples;
    long count = same ? samples - earlier.samples : samples;
    double sum = same ? lossSum - earlier.lossSum : lossSum;
    return count == 0 ? 0 : sum / count;
  }

  /** Likewise the training accuracy in percent; NaN where it is unknown. */
  public double accuracySince(LoopProgress earlier) {
    boolean same =
        earlier.rank == rank && earlier.incarnation == incarnation && earlier.samples < samples;
    long count = same ? samples - earlier.samples : samples;
    double right = same ? correct - earlier.correct : correct;
    return correct < 0 || count == 0 ? Double.NaN : 100.0 * right / count;
  }

  /** As an event; its loss is that since an earlier one. */
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
