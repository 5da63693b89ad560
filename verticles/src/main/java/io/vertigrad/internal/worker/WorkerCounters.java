package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Step;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Consumer;

/** Counts what a training loop does. Belongs to the loop's thread. */
public final class WorkerCounters {

  private static final double NANOS_PER_SECOND = 1e9;

  private final SenderIdentity identity;
  private final Epochs epochs;
  private final EpochStatistics statistics;
  private final Consumer<EpochTrained> onEpoch;
  private final Map<Integer, Long> staleness = new HashMap<>();
  private TrafficCounters traffic = new TrafficCounters();
  private long step;
  private long version;
  private int epoch;
  private long samples;
  private double lossSum;
  private double correct;
  private boolean correctUnknown;
  private long computingNanos;
  private long exchangingNanos;
  private long waitingNanos;
  private long refused;

  /**
   * Creates counters that start at zero.
   *
   * @param step number of the rank's first step
   * @param epochs when epochs end
   * @param statistics what earlier incarnations have trained of the current epoch
   * @param onEpoch receives each epoch that this worker has trained
   */
  WorkerCounters(
      SenderIdentity identity,
      long step,
      Epochs epochs,
      EpochStatistics statistics,
      Consumer<EpochTrained> onEpoch) {
    this.step = step;
    this.identity = identity;
    this.epochs = epochs;
    this.statistics = statistics;
    this.onEpoch = onEpoch;
    statistics.setRank(identity.rank());
  }

  /** Records a computed gradient. */
  void computed(Computed gradient) {
    epoch = gradient.epoch();
    waitingNanos += gradient.dataWaitNanos();
    computingNanos += gradient.computedNanos();
    exchangingNanos += gradient.transferNanos();
    statistics.recordGradient(step, gradient.countedSamples(), gradient.loss(), gradient.correct());
  }

  /**
   * Records an exchange. The samples of a gradient that was late or not finite, and so was not
   * applied, do not count.
   *
   * @param nanos time from the gradient to the next parameters
   */
  void exchanged(Computed gradient, Step result, long nanos) {
    step++;
    if (!result.applied()) {
      statistics.recordLeftOut();
    } else if (gradient.countedSamples() > 0) {
      countSamples(gradient.countedSamples(), gradient.loss(), gradient.correct());
    }
    version = result.highestVersion();
    exchangingNanos += nanos;
    traffic = result.traffic();
    refused += result.leftOutReason().isPresent() ? 1 : 0;
    result.staleness().ifPresent(value -> staleness.merge(value, 1L, Long::sum));
  }

  private void countSamples(int applied, double loss, double correctSamples) {
    samples += applied;
    lossSum += loss * applied;
    correct += Math.max(0, correctSamples);
    correctUnknown |= correctSamples < 0;
  }

  /**
   * Continues from a version.
   *
   * @param next number of the next step
   */
  void continueAt(long newest, long next) {
    version = newest;
    step = next;
    statistics.continueAt(next, epochs.ended(newest));
    endEpoch();
  }

  /** Records how long the last step took, from asking for its batch to the next parameters. */
  void recordStepNanos(long nanos) {
    statistics.recordDuration(nanos);
    endEpoch();
  }

  /** Publishes an epoch that the newest version has ended, if this worker trained a part of it. */
  private void endEpoch() {
    long ended = epochs.ended(version);
    EpochStatistics.Sum epoch = statistics.end(ended);
    if (epoch.samples() > 0) {
      onEpoch.accept(
          new EpochTrained(
              System.currentTimeMillis(),
              identity.rank(),
              identity.incarnation(),
              ended,
              epochs.end(ended),
              epoch.samples(),
              epoch.loss(),
              epoch.accuracy(),
              epoch.nanos() / NANOS_PER_SECOND));
    }
  }

  /** Returns the number of steps that the worker's rank has taken. */
  long step() {
    return step;
  }

  /** Returns a snapshot of the counters. */
  LoopProgress snapshot() {
    return new LoopProgress(
        identity.rank(),
        identity.incarnation(),
        step,
        version,
        epoch,
        samples,
        lossSum,
        correctUnknown ? -1 : correct,
        computingNanos / NANOS_PER_SECOND,
        exchangingNanos / NANOS_PER_SECOND,
        waitingNanos / NANOS_PER_SECOND,
        traffic.bytesSent(),
        traffic.bytesSaved(),
        traffic.bytesReceived(),
        refused,
        staleness,
        traffic.sentTo(),
        traffic.receivedFrom());
  }

  /**
   * A training loop's counters since its worker was admitted.
   *
   * @param rank rank of the worker; -1 before it is admitted
   * @param incarnation incarnation of that rank
   * @param step number of steps that the rank has taken, including those of earlier incarnations
   * @param version highest version seen
   * @param epoch epoch of the last batch
   * @param samples number of training samples behind the applied gradients, according to the
   *     answers; a gradient that was applied but whose answer was lost is not counted
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
        new LoopProgress(
            -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), Map.of(), Map.of());

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
      double correctSamples = same ? correct - earlier.correct : correct;
      return correct < 0 || count == 0 ? Double.NaN : 100.0 * correctSamples / count;
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

  /**
   * Statistics of the last {@value #STEPS} steps that a rank has trained. Each step counts once in
   * its epoch: a repeated step replaces the earlier one, and a step whose answer was lost counts if
   * training continues after it.
   *
   * <p>An instance lives as long as the worker's process, across the incarnations of the worker. It
   * belongs to the training loop's thread.
   */
  static final class EpochStatistics {

    private static final int STEPS = 65_536;

    private final ArrayDeque<Step> steps = new ArrayDeque<>();
    private int rank = -1;
    private long ended;

    /** One step. Its samples, loss and accuracy do not count if its gradient was left out. */
    private static final class Step {

      private final long number;
      private int samples;
      private double lossSum;
      private double correct;
      private long nanos;
      private long epoch;

      Step(long number) {
        this.number = number;
      }
    }

    /**
     * The statistics of one epoch.
     *
     * @param samples number of samples that were applied
     * @param loss mean training loss of these samples
     * @param accuracy training accuracy in percent; NaN where the model does not report it
     * @param nanos sum of the times from each batch to the next parameters
     */
    record Sum(long samples, double loss, double accuracy, long nanos) {}

    /** Sets the rank that the worker has now. Clears the statistics of any other rank. */
    void setRank(int someRank) {
      if (rank != someRank) {
        rank = someRank;
        ended = 0;
        steps.clear();
      }
    }

    /**
     * Continues training at a step: keeps the steps before it, drops this step and all later ones.
     *
     * @param epochs number of epochs that have ended at this step
     */
    void continueAt(long step, long epochs) {
      while (!steps.isEmpty() && steps.getLast().number >= step) {
        steps.removeLast();
      }
      if (epochs < ended) {
        ended = epochs;
        steps.stream().filter(each -> each.epoch > epochs).forEach(each -> each.epoch = 0);
      }
    }

    /**
     * Records a computed gradient.
     *
     * @param correct number of its samples that were classified correctly; negative where the model
     *     does not report it
     */
    void recordGradient(long step, int samples, double loss, double correct) {
      continueAt(step, ended);
      Step next = new Step(step);
      next.samples = samples;
      next.lossSum = samples * loss;
      next.correct = correct;
      steps.add(next);
      if (steps.size() > STEPS) {
        steps.removeFirst();
      }
    }

    /** Records that the last computed gradient was not applied anywhere. */
    void recordLeftOut() {
      steps.getLast().samples = 0;
    }

    /** Records how long the last step took. */
    void recordDuration(long nanos) {
      steps.getLast().nanos = nanos;
    }

    /**
     * Ends an epoch. It contains the steps that no earlier epoch contains.
     *
     * @param epochs number of epochs that have ended by now
     * @return the epoch's statistics; no samples if it had already ended or nothing was trained
     */
    Sum end(long epochs) {
      if (epochs <= ended) {
        return new Sum(0, 0, 0, 0);
      }
      ended = epochs;
      long samples = 0;
      double lossSum = 0;
      double correct = 0;
      long nanos = 0;
      Iterator<Step> newestFirst = steps.descendingIterator();
      while (newestFirst.hasNext()) {
        Step step = newestFirst.next();
        if (step.epoch > 0) {
          break;
        }
        step.epoch = epochs;
        nanos += step.nanos;
        if (step.samples > 0) {
          samples += step.samples;
          lossSum += step.lossSum;
          correct = step.correct < 0 ? Double.NaN : correct + step.correct;
        }
      }
      return new Sum(samples, lossSum / samples, 100 * correct / samples, nanos);
    }
  }
}
