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
   * Begins to wait.
   *
   * @param id of the update
   * @param staleness versions that the update was behind
   * @param nowNanos when it came
   * @return what is to be answered later
   */
  public static Waiting of(ExchangeId id, int staleness, long nowNanos) {
    return new Waiting(id, staleness, nowNanos, Promise.promise());
  }

  /**
   * True when it waits for longer than a limit.
   *
   * @param limitMillis the limit
   * @param nowNanos the same clock as when it came
   * @return true when the limit has passed
   */
  public boolean exceeds(long limitMillis, long nowNanos) {
    return nowNanos - sinceNanos >= limitMillis * 1_000_000;
  }

  /**
   * True when its worker has left or was admitted anew.
   *
   * @param now the members
   * @return true when this incarnation takes part no more
   */
  public boolean hasLeft(Membership now) {
    return !now.hasWorker(id.worker(), id.incarnation());
  }

  /**
   * Ends the wait with an answer.
   *
   * @param frame what the worker gets
   */
  public void answer(Frame frame) {
    promise.complete(frame);
  }

  /**
   * Ends the wait with a refusal.
   *
   * @param reason for the worker's program
   * @param message for a person
   */
  public void refuse(Reason reason, String message) {
    promise.complete(new Refusal(id, reason, message));
  }

  /**
   * Tells a worker that was taken for dead.
   *
   * @param now the members, without this worker
   */
  public void refuseAsLeft(Membership now) {
    refuse(
        Reason.STALE_INCARNATION,
        "partition %d: worker %d (incarnation %d) left at membership epoch %d; join again"
            .formatted(id.partition(), id.worker(), id.incarnation(), now.epoch()));
  }
}
