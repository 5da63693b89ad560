package io.vertigrad.verticles.worker;

import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.exchange.Traffic;
import java.util.HashMap;
import java.util.Map;

/** Counts what a training loop does; belongs to its thread. */
public final class Tally {

  private static final double NANOS_PER_SECOND = 1e9;

  private final Identity identity;
  private final Map<Integer, Long> staleness = new HashMap<>();
  private Traffic traffic = new Traffic();
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

  public Tally(Identity identity) {
    this.identity = identity;
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
  public void moved(long nanos, Traffic all) {
    exchangingNanos += nanos;
    traffic = all;
  }

  /** Goes on from a version. */
  public void pulled(long newest) {
    version = newest;
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
