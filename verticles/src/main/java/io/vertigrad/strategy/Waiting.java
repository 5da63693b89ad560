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
 * @param staleness of that update when it was applied; 0 if it is not applied yet
 * @param sinceNanos start of the wait
 * @param promise its answer
 */
public record Waiting(ExchangeId id, int staleness, long sinceNanos, Promise<Frame> promise) {

  /**
   * Starts a wait.
   *
   * @param id the update that the worker sent
   * @param staleness of that update when it was applied; 0 if it is not applied yet
   * @param nowNanos monotonic time in nanoseconds
   * @return a wait without an answer
   */
  public static Waiting of(ExchangeId id, int staleness, long nowNanos) {
    return new Waiting(id, staleness, nowNanos, Promise.promise());
  }

  /**
   * Returns whether the wait exceeds a limit.
   *
   * @param limitMillis the limit
   * @param nowNanos monotonic time in nanoseconds
   * @return true when it does
   */
  public boolean exceeds(long limitMillis, long nowNanos) {
    return nowNanos - sinceNanos >= limitMillis * 1_000_000;
  }

  /**
   * Returns whether the worker has left or was admitted again.
   *
   * @param now the current members
   * @return true when the answer is no longer needed
   */
  public boolean hasLeft(Membership now) {
    return !now.hasWorker(id.worker(), id.incarnation());
  }

  /**
   * Answers the worker; only the first call has an effect.
   *
   * @param frame the answer
   */
  public void answer(Frame frame) {
    promise.tryComplete(frame);
  }

  /**
   * Refuses the update; only the first call has an effect.
   *
   * @param reason for the program
   * @param message for the user: where, what was found, what was expected, what to do
   */
  public void refuse(Reason reason, String message) {
    promise.tryComplete(new Refusal(id, reason, message));
  }

  /**
   * Refuses the update of a worker that was evicted, so that it joins again.
   *
   * @param now the current members
   */
  public void refuseAsLeft(Membership now) {
    refuse(
        Reason.STALE_INCARNATION,
        "partition %s: worker %s (incarnation %s) left at membership epoch %s; join again"
            .formatted(id.partition(), id.worker(), id.incarnation(), now.epoch()));
  }
}
