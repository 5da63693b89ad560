package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent.EpochTrained;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.exchange.TrafficCounters;
import io.vertigrad.internal.job.Epochs;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** Counts what a training loop does; belongs to its thread. */
public final class WorkerCounters {

  private static final double NANOS_PER_SECOND = 1e9;

  private final SenderIdentity identity;
  private final Epochs epochs;
  private final Consumer<EpochTrained> trained;
  private final Map<Integer, Long> staleness = new HashMap<>();
  private TrafficCounters traffic = new TrafficCounters();
  private long step;
  private long version;
  private int epoch;
  private long samples;
  private double lossSum;
  private long correct;
  private boolean uncounted;
  private long computingNanos;
  private long exchangingNanos;
  private long waitingNanos;
  private long refused;
  private LoopProgress epochBegan;
  private long epochsEnded;
  private long epochNanos;

  /**
   * Counters at zero.
   *
   * @param epochs when one ends
   * @param trained told of each that this worker has been through
   */
  public WorkerCounters(SenderIdentity identity, Epochs epochs, Consumer<EpochTrained> trained) {
    this.identity = identity;
    this.epochs = epochs;
    this.trained = trained;
    this.epochBegan = snapshot();
  }

  /** Time in which nothing could be done: no data, or nothing of a neighbouring stage. */
  public void waited(long nanos) {
    waitingNanos += nanos;
  }

  /** A gradient, of a batch of this epoch. */
  public void computed(int ofEpoch, long nanos) {
    epoch = ofEpoch;
    computingNanos += nanos;
  }

  /** Of a gradient that was applied nowhere, being late or not finite, no samples count. */
  void exchanged(GradientRound round, double loss, int right, long newest, long nanos) {
    step++;
    if (round.staleness().isPresent()) {
      learned(round.samples(), loss, right);
    }
    version = newest;
    exchangingNanos += nanos;
    traffic.add(round.traffic());
    refused += round.refusal().isPresent() ? 1 : 0;
    round.staleness().ifPresent(value -> staleness.merge(value, 1L, Long::sum));
  }

  /**
   * A step without servers.
   *
   * @param applied samples behind the gradient, 0 if it was left out or is another's to count
   * @param loss their mean; means nothing without samples
   * @param right how many of them were classified correctly; -1 where that is unknown
   */
  public void stepped(int applied, double loss, int right, long newest) {
    step++;
    if (applied > 0) {
      learned(applied, loss, right);
    }
    version = newest;
  }

  private void learned(int applied, double loss, int right) {
    samples += applied;
    lossSum += loss * applied;
    correct += Math.max(0, right);
    uncounted |= right < 0;
  }

  /**
   * Time spent on tensors of others.
   *
   * @param all traffic of the whole session
   */
  public void moved(long nanos, TrafficCounters all) {
    exchangingNanos += nanos;
    traffic = all;
  }

  /** Goes on from a version. */
  public void pulled(long newest) {
    version = newest;
    endEpoch();
  }

  /** The last step took so long, from asking for its batch to the next parameters. */
  public void took(long nanos) {
    epochNanos += nanos;
    endEpoch();
  }

  /** Tells of an epoch that the newest version has ended, if this worker had a part in it. */
  private void endEpoch() {
    long ended = epochs.ended(version);
    if (ended <= epochsEnded) {
      return;
    }
    epochsEnded = ended;
    if (samples > epochBegan.samples()) {
      LoopProgress now = snapshot();
      trained.accept(
          new EpochTrained(
              System.currentTimeMillis(),
              identity.rank(),
              identity.incarnation(),
              ended,
              epochs.end(ended),
              now.samples() - epochBegan.samples(),
              now.lossSince(epochBegan),
              now.accuracySince(epochBegan),
              epochNanos / NANOS_PER_SECOND));
      epochBegan = now;
    }
    epochNanos = 0;
  }

  /** Steps taken. */
  long step() {
    return step;
  }

  /** The counters as they are. */
  public LoopProgress snapshot() {
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
