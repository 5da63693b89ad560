package io.vertigrad.internal.transport;

import io.vertigrad.job.ExchangeConfig;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The limit to what one process sends over all of its streams together, like a network card of that
 * speed: one message after the other, in the order in which they came.
 *
 * <p>A message goes out when its last byte would have left such a card. What waits here is what
 * senders have unanswered, and so is bounded by their windows. Any thread may send; actions run on
 * a thread of the limit's own, which ends when nothing has waited for some seconds, or on the
 * sender's where nothing waits.
 */
final class LinkLimit {

  /** Acknowledgements and the like pass at once after a rest. */
  private static final int BURST_BYTES = 4 << 10;

  private static final double BYTES_PER_MEGABIT = 125_000;
  private static final int KEPT_SECONDS = 5;

  private final TokenBucket bucket;
  private final LongSupplier nanoClock;
  private final Timer timer;
  private final Queue<Waiting> queue = new ArrayDeque<>();

  /** Runs an action after some nanoseconds, on any thread. */
  @FunctionalInterface
  interface Timer {
    void after(long nanos, Runnable action);
  }

  private record Waiting(long dueNanos, Runnable send) {}

  /**
   * A link on which nothing waits.
   *
   * @param bytesPerSecond most that is sent
   * @param nanoClock a monotonic clock
   * @param timer by that clock
   */
  LinkLimit(double bytesPerSecond, LongSupplier nanoClock, Timer timer) {
    this.nanoClock = nanoClock;
    this.timer = timer;
    this.bucket = new TokenBucket(bytesPerSecond, BURST_BYTES, nanoClock.getAsLong());
  }

  /** The limit that a job asks for, if it does. */
  static Optional<LinkLimit> of(ExchangeConfig config) {
    return config.megabitsPerSecond() == 0
        ? Optional.empty()
        : Optional.of(
            new LinkLimit(
                config.megabitsPerSecond() * BYTES_PER_MEGABIT, System::nanoTime, timer()));
  }

  private static Timer timer() {
    ScheduledThreadPoolExecutor threads =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "link limit");
              thread.setDaemon(true);
              return thread;
            });
    threads.setKeepAliveTime(KEPT_SECONDS, TimeUnit.SECONDS);
    threads.allowCoreThreadTimeOut(true);
    return (nanos, action) -> threads.schedule(action, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Sends a message when the link has room for it.
   *
   * @param bytes its length
   * @param send hands it to its connection without blocking
   */
  synchronized void send(int bytes, Runnable send) {
    long now = nanoClock.getAsLong();
    long due = bucket.take(bytes, now);
    if (queue.isEmpty() && due <= now) {
      send.run();
    } else {
      queue.add(new Waiting(due, send));
      if (queue.size() == 1) {
        timer.after(due - now, this::release);
      }
    }
  }

  private synchronized void release() {
    long now = nanoClock.getAsLong();
    while (!queue.isEmpty() && queue.peek().dueNanos() <= now) {
      queue.remove().send().run();
    }
    if (!queue.isEmpty()) {
      timer.after(queue.peek().dueNanos() - now, this::release);
    }
  }
}
