package io.vertigrad.verticles.pipeline;

import io.vertigrad.verticles.exchange.Identity;
import io.vertigrad.verticles.exchange.Traffic;
import io.vertigrad.verticles.worker.LoopProgress;
import java.util.Map;

/** Counts what a stage does since its admission; belongs to its thread. */
final class StageTally {

  private static final double NANOS_PER_SECOND = 1e9;

  private final Identity identity;
  private long step;
  private long version;
  private int epoch;
  private long samples;
  private double lossSum;
  private long computingNanos;

  StageTally(Identity identity) {
    this.identity = identity;
  }

  /** Goes on from a version. */
  void resumed(long from) {
    version = from;
  }

  /**
   * A step is over.
   *
   * @param counted its samples in the last stage, which knows their loss; 0 in the others
   */
  void stepped(long newest, int newestEpoch, int counted, double loss, long nanos) {
    step++;
    version = newest;
    epoch = newestEpoch;
    samples += counted;
    lossSum += counted == 0 ? 0 : loss * counted;
    computingNanos += nanos;
  }

  /**
   * The counters as they are.
   *
   * @param movedNanos time spent on tensors and on averaging with replicas
   * @param waitedNanos time spent waiting for neighbours and data
   */
  LoopProgress snapshot(long movedNanos, long waitedNanos, Traffic traffic) {
    return new LoopProgress(
        identity.rank(),
        identity.incarnation(),
        step,
        version,
        epoch,
        samples,
        lossSum,
        computingNanos / NANOS_PER_SECOND,
        movedNanos / NANOS_PER_SECOND,
        waitedNanos / NANOS_PER_SECOND,
        traffic.bytesSent(),
        traffic.bytesSaved(),
        traffic.bytesReceived(),
        0,
        Map.of(),
        traffic.sentTo(),
        traffic.receivedFrom());
  }
}
