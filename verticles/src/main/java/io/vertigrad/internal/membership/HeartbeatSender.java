package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorSilence.Finding;
import io.vertigrad.job.ExchangeConfig;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends a member's heartbeats: one at once, then one per interval, with or without answers.
 *
 * <p>A silent coordinator is no reason to stop: the member goes on, logs the silence, and gives up
 * only after {@code exchange.orphanSeconds}. Time in which this process itself was paused does not
 * count.
 */
final class HeartbeatSender {

  private static final Logger LOG = LoggerFactory.getLogger(HeartbeatSender.class);
  private static final long SLOWEST_MILLIS = 1_000;
  private static final double MILLIS_PER_SECOND = 1_000;

  private final Vertx vertx;
  private final String name;
  private final ExchangeConfig limits;
  private final LongFunction<Future<Void>> beat;
  private final Consumer<Boolean> silent;
  private final LongConsumer lost;
  private final CoordinatorSilence silence;
  private final long timer;

  /**
   * Starts to send heartbeats.
   *
   * @param name of the member, for messages
   * @param beat sends one heartbeat, with a limit in milliseconds for its answer
   * @param silent receives true when the coordinator falls silent and false when it answers again
   * @param lost called once with the silence in milliseconds, when it has lasted too long
   */
  HeartbeatSender(
      Vertx vertx,
      String name,
      ExchangeConfig limits,
      LongFunction<Future<Void>> beat,
      Consumer<Boolean> silent,
      LongConsumer lost) {
    this.vertx = vertx;
    this.name = name;
    this.limits = limits;
    this.beat = beat;
    this.silent = silent;
    this.lost = lost;
    silence =
        new CoordinatorSilence(
            limits.suspectMillis(),
            limits.suspectMillis(),
            TimeUnit.SECONDS.toMillis(limits.orphanSeconds()),
            now());
    long interval = Math.min(SLOWEST_MILLIS, Math.max(1, limits.suspectMillis() / 3));
    timer = vertx.setPeriodic(1, interval, id -> lookAndBeat());
  }

  void stop() {
    vertx.cancelTimer(timer);
  }

  /** Sends one heartbeat now, in addition to the regular ones. */
  void beat() {
    beat.apply(limits.evictMillis()).onSuccess(answer -> answered());
  }

  private void lookAndBeat() {
    Finding found = silence.look(now());
    if (found == Finding.GIVE_UP) {
      stop();
      lost.accept(silence.silentMillis(now()));
      return;
    }
    if (found == Finding.TELL) {
      silent.accept(true);
      LOG.warn(
          "the coordinator has not answered {} for {} s; it goes on, and stops after {} s"
              + " (exchange.orphanSeconds)",
          name,
          seconds(),
          limits.orphanSeconds());
    }
    beat();
  }

  private void answered() {
    String seconds = seconds();
    if (silence.answered(now())) {
      silent.accept(false);
      LOG.info("the coordinator answers {} again after {} s", name, seconds);
    }
  }

  private String seconds() {
    return String.format(Locale.ROOT, "%.1f", silence.silentMillis(now()) / MILLIS_PER_SECOND);
  }

  private static long now() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }
}
