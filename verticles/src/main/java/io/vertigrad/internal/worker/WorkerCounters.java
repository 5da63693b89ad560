package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.job.Epochs;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Step;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** Counts what a training loop does. Belongs to the loop's thread. */
final class WorkerCounters {

  private static final double NANOS_PER_SECOND = 1e9;

  private final SenderIdentity identity;
  private final Epochs epochs;
  private final EpochStatistics statistics;
  private final Consumer<EpochTrained> trained;
  private final Map<Integer, Long> staleness = new HashMap<>();
  private TrafficCounters traffic = new TrafficCounters();
  private long step;
  private long version;
  private int epoch;
  private long samples;
  private double lossSum;
  private double correct;
  private boolean uncounted;
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
   * @param trained receives each epoch that this worker has trained
   */
  WorkerCounters(
      SenderIdentity identity,
      long step,
      Epochs epochs,
      EpochStatistics statistics,
      Consumer<EpochTrained> trained) {
    this.step = step;
    this.identity = identity;
    this.epochs = epochs;
    this.statistics = statistics;
    this.trained = trained;
    statistics.belongsTo(identity.rank());
  }

  /** Records a computed gradient. */
  void computed(Computed gradient) {
    epoch = gradient.epoch();
    waitingNanos += gradient.waitedNanos();
    computingNanos += gradient.computedNanos();
    exchangingNanos += gradient.movedNanos();
    statistics.computed(step, gradient.counted(), gradient.loss(), gradient.correct());
  }

  /**
   * Records an exchange. The samples of a gradient that was late or not finite, and so was not
   * applied, do not count.
   *
   * @param nanos time from the gradient to the next parameters
   * @param all traffic of the whole incarnation
   */
  void exchanged(Computed gradient, Step became, long newest, long nanos, TrafficCounters all) {
    step++;
    if (!became.applied()) {
      statistics.leftOut();
    } else if (gradient.counted() > 0) {
      learned(gradient.counted(), gradient.loss(), gradient.correct());
    }
    version = newest;
    exchangingNanos += nanos;
    traffic = all;
    refused += became.leftOut().isPresent() ? 1 : 0;
    became.staleness().ifPresent(value -> staleness.merge(value, 1L, Long::sum));
  }

  private void learned(int applied, double loss, double right) {
    samples += applied;
    lossSum += loss * applied;
    correct += Math.max(0, right);
    uncounted |= right < 0;
  }

  /**
   * Continues from a version.
   *
   * @param next number of the next step
   */
  void pulled(long newest, long next) {
    version = newest;
    step = next;
    statistics.goOn(next, epochs.ended(newest));
    endEpoch();
  }

  /** Records how long the last step took, from asking for its batch to the next parameters. */
  void took(long nanos) {
    statistics.took(nanos);
    endEpoch();
  }

  /** Publishes an epoch that the newest version has ended, if this worker trained a part of it. */
  private void endEpoch() {
    long ended = epochs.ended(version);
    EpochStatistics.Sum epoch = statistics.end(ended);
    if (epoch.samples() > 0) {
      trained.accept(
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
        uncounted ? -1 : correct,
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
}
