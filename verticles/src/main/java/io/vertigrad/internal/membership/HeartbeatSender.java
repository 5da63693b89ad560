package io.vertigrad.internal.membership;

import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * A member's heartbeat: beats at once, then regularly, and notices when nobody answers.
 *
 * <p>Time in which this process itself was paused does not count against the coordinator.
 */
final class HeartbeatSender {

  private static final long SLOWEST_MILLIS = 1_000;

  private final Vertx vertx;
  private final long patienceNanos;
  private final LongFunction<Future<Void>> beat;
  private final LongConsumer lost;
  private final long timer;
  private long answeredNanos = System.nanoTime();
  private long beatNanos = answeredNanos;

  /**
   * Starts to beat.
   *
   * @param beat sends one heartbeat, with a limit in milliseconds for its answer
   * @param lost told for how many milliseconds there was no answer, once, when that is too long
   */
  HeartbeatSender(
      Vertx vertx, ExchangeConfig limits, LongFunction<Future<Void>> beat, LongConsumer lost) {
    this.vertx = vertx;
    this.beat = beat;
    this.lost = lost;
    patienceNanos = TimeUnit.MILLISECONDS.toNanos(3 * limits.evictMillis());
    long interval = Math.min(SLOWEST_MILLIS, Math.max(1, limits.suspectMillis() / 3));
    timer = vertx.setPeriodic(1, interval, id -> beat());
  }

  void stop() {
    vertx.cancelTimer(timer);
  }

  /** One beat, now; the regular ones go on. */
  void beat() {
    long now = System.nanoTime();
    if (now - beatNanos > patienceNanos / 3) {
      answeredNanos += now - beatNanos;
    }
    beatNanos = now;
    if (now - answeredNanos > patienceNanos) {
      stop();
      lost.accept(TimeUnit.NANOSECONDS.toMillis(now - answeredNanos));
      return;
    }
    beat.apply(TimeUnit.NANOSECONDS.toMillis(patienceNanos))
        .onSuccess(answer -> answeredNanos = System.nanoTime());
  }
}
