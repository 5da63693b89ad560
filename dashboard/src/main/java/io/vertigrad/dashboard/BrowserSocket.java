package io.vertigrad.dashboard;

import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.handler.sockjs.SockJSSocket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** One browser's socket: what waits to be read by it, and how often it asks. */
final class BrowserSocket {

  static final long UNREAD_BYTES = 4 << 20;
  static final int BURST = 40;
  private static final long REFILL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final SockJSSocket socket;
  private final AtomicLong unread = new AtomicLong();
  private final AtomicLong told = new AtomicLong();
  private long allowance = BURST;
  private long refilledNanos = System.nanoTime();

  BrowserSocket(SockJSSocket socket) {
    this.socket = socket;
  }

  /** Sends a message unless too much waits already. */
  boolean write(Buffer message) {
    return write(message, 0);
  }

  /** Sends the delta of this number, likewise. */
  boolean write(Buffer message, long number) {
    int length = message.length();
    if (unread.addAndGet(length) > UNREAD_BYTES) {
      return false;
    }
    socket
        .write(message)
        .onComplete(
            written -> {
              unread.addAndGet(-length);
              told.accumulateAndGet(number, Math::max);
            });
    return true;
  }

  /** True when it follows the run and the delta of this number has not been sent yet. */
  boolean lacks(long number) {
    long last = told.get();
    return last > 0 && last < number;
  }

  /** True up to {@value #BURST} times at once, and ten times a second in the long run. */
  synchronized boolean mayAsk(long nowNanos) {
    long earned = (nowNanos - refilledNanos) / REFILL_NANOS;
    if (earned > 0) {
      allowance = Math.min(BURST, allowance + earned);
      refilledNanos = nowNanos;
    }
    return allowance-- > 0;
  }
}
