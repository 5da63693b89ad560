package io.vertigrad.internal.transport;

import io.vertigrad.job.ExchangeConfig;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits what one process sends over all of its streams together, like a network card of that
 * speed: messages go out one after the other, in the order in which they were sent.
 *
 * <p>A message goes out when its last byte would have left such a card. The senders' windows bound
 * what waits here. Any thread may send. If the link is free, an action runs on the sender's thread;
 * otherwise on the limit's own thread, which ends after some seconds without work.
 */
final class LinkLimit {

  /** Bytes that pass at once after a pause, enough for acknowledgements. */
  private static final int BURST_BYTES = 4 << 10;

  private static final double BYTES_PER_MEGABIT = 125_000;
  private static final int KEPT_SECONDS = 5;

  private final TokenBucket bucket;
  private final LongSupplier nanoClock;
  private final Timer timer;
  private final Queue<Waiting> queue = new ArrayDeque<>();

  /** Runs an action after a number of nanoseconds, on any thread. */
  @FunctionalInterface
  interface Timer {
    void after(long nanos, Runnable action);
  }

  private record Waiting(long dueNanos, Runnable send) {}

  /**
   * Creates a limit with an empty queue.
   *
   * @param bytesPerSecond most bytes sent in a second
   * @param nanoClock a monotonic clock
   * @param timer runs actions later, by the same clock
   */
  LinkLimit(double bytesPerSecond, LongSupplier nanoClock, Timer timer) {
    this.nanoClock = nanoClock;
    this.timer = timer;
    this.bucket = new TokenBucket(bytesPerSecond, BURST_BYTES, nanoClock.getAsLong());
  }

  /** Returns the limit that a job configures, or empty when it configures none. */
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
   * @param bytes length of the message
   * @param send passes the message to its connection without blocking
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
