package io.vertigrad.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertx.core.Promise;

/**
 * A worker that waits for its answer.
 *
 * @param id the update it sent
 * @param staleness of that update when it was applied; 0 where it is not applied yet
 * @param sinceNanos when it began to wait
 * @param promise its answer
 */
public record Waiting(ExchangeId id, int staleness, long sinceNanos, Promise<Frame> promise) {

  /**
   * Begins a wait.
   *
   * @param id the update that the worker sent
   * @param staleness of that update when it was applied; 0 where it is not applied yet
   * @param nowNanos monotonic time in nanoseconds
   * @return a wait without an answer
   */
  public static Waiting of(ExchangeId id, int staleness, long nowNanos) {
    return new Waiting(id, staleness, nowNanos, Promise.promise());
  }

  /**
   * Tells whether it waits for longer than a limit.
   *
   * @param limitMillis the limit
   * @param nowNanos monotonic time in nanoseconds
   * @return true when it does
   */
  public boolean exceeds(long limitMillis, long nowNanos) {
    return nowNanos - sinceNanos >= limitMillis * 1_000_000;
  }

  /**
   * Tells whether its worker has left or was admitted anew.
   *
   * @param now who takes part
   * @return true when nobody waits for the answer any more
   */
  public boolean hasLeft(Membership now) {
    return !now.hasWorker(id.worker(), id.incarnation());
  }

  /**
   * Answers, once.
   *
   * @param frame the answer
   */
  public void answer(Frame frame) {
    promise.complete(frame);
  }

  /**
   * Answers with a refusal, once.
   *
   * @param reason for programs
   * @param message for people: where, what was found, what was expected, what to do
   */
  public void refuse(Reason reason, String message) {
    promise.complete(new Refusal(id, reason, message));
  }

  /**
   * Tells a worker that was taken for dead to join again.
   *
   * @param now who takes part
   */
  public void refuseAsLeft(Membership now) {
    refuse(
        Reason.STALE_INCARNATION,
        "partition %d: worker %d (incarnation %d) left at membership epoch %d; join again"
            .formatted(id.partition(), id.worker(), id.incarnation(), now.epoch()));
  }
}
