package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.internal.exchange.ExchangeException.UnansweredException;
import io.vertigrad.job.Partition;
import java.util.Locale;
import java.util.function.LongSupplier;

/** One partition's unanswered request, and the last response to it. */
final class PendingRequest {

  /** Stands for no server incarnation: the request was never sent. */
  static final int NOWHERE = -1;

  private final Partition partition;
  private final Frame frame;
  private final LongSupplier patience;
  private final long startNanos;
  private int sentTo = NOWHERE;
  private int attempts;
  private int malformed;
  private long nextAttemptNanos;
  private String lastHeard = "nothing";
  private long lastHeardNanos;
  private volatile boolean settled;

  /**
   * Creates a request that was not sent yet.
   *
   * @param patience clock for the waiting time, in monotonic nanoseconds
   * @param nowNanos current time of the clock for everything else
   */
  PendingRequest(Partition partition, Frame frame, LongSupplier patience, long nowNanos) {
    this.partition = partition;
    this.frame = frame;
    this.patience = patience;
    this.startNanos = patience.getAsLong();
    this.lastHeardNanos = nowNanos;
  }

  Partition partition() {
    return partition;
  }

  Frame frame() {
    return frame;
  }

  /** Returns the server incarnation of the last attempt. */
  int sentTo() {
    return sentTo;
  }

  /** Returns false after a retry: a copy may then still be in transit when the answer arrives. */
  boolean sentOnce() {
    return attempts == 1;
  }

  long nextAttemptNanos() {
    return nextAttemptNanos;
  }

  /** Returns how long the request has waited; a pause of the job does not count. */
  long waitedNanos() {
    return patience.getAsLong() - startNanos;
  }

  /** Returns true once the request is answered or given up; later answers are ignored. */
  boolean settled() {
    return settled;
  }

  void settle() {
    settled = true;
  }

  void sent(int server, long nextAttemptNanos) {
    this.sentTo = server;
    this.nextAttemptNanos = nextAttemptNanos;
    attempts++;
  }

  /** Stores a response for the error message and moves the next attempt forward to that time. */
  void heard(String what, long nowNanos, long nextAttemptNanos) {
    lastHeard = what;
    lastHeardNanos = nowNanos;
    this.nextAttemptNanos = Math.min(this.nextAttemptNanos, nextAttemptNanos);
  }

  /** Returns the wait before the next attempt: it doubles each time, from 10 ms to {@code most}. */
  long backoffNanos(long most) {
    return Math.min(most, 5_000_000L << Math.min(attempts, 10));
  }

  int countMalformed() {
    return ++malformed;
  }

  ExchangeException refused(Refusal refusal) {
    String message =
        "%s refused by shard %d after %s: %s (%s)"
            .formatted(
                name(),
                partition.shard(),
                seconds(waitedNanos()),
                refusal.message(),
                refusal.reason());
    return refusal.reason() == Refusal.Reason.DEADLINE
        ? new UnansweredException(message)
        : new ExchangeException(message);
  }

  ExchangeException misanswered(String found) {
    return new ExchangeException(
        ("%s: %d frames to or from shard %d were not understood within %s, the last: %s; do all"
                + " nodes run the same version, and is the network between them sound?")
            .formatted(name(), malformed, partition.shard(), seconds(waitedNanos()), found));
  }

  UnansweredException unanswered(String address, long nowNanos) {
    return new UnansweredException(
        ("%s: no answer from shard %d for %s (%d attempts, address %s); last heard %s ago: %s. "
                + "Look at that server's log, or raise exchange.deadlineMillis")
            .formatted(
                name(),
                partition.shard(),
                seconds(waitedNanos()),
                attempts,
                address,
                seconds(nowNanos - lastHeardNanos),
                lastHeard));
  }

  /** Names the request: {@code worker 1 (incarnation 0), step 17, gradient of partition 3}. */
  private String name() {
    GradientPartition gradient = frame instanceof GradientPartition offered ? offered : null;
    ExchangeId id = gradient == null ? ((PullRequest) frame).id() : gradient.id();
    String who =
        id.worker() < 0
            ? "reader"
            : "worker %d (incarnation %d)".formatted(id.worker(), id.incarnation());
    String what = gradient == null ? "pull" : "gradient";
    return "%s, step %d, %s of partition %d".formatted(who, id.step(), what, partition.index());
  }

  private static String seconds(long nanos) {
    return String.format(Locale.ROOT, "%.1f s", nanos / 1e9);
  }
}
