package io.vertigrad.internal.exchange;

import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Passes answers from any thread to the one thread that waits for them.
 *
 * <p>It holds at most one item per request in flight, so it needs no limit of its own. The reader
 * spins for a few microseconds before it parks, because an answer within the JVM often arrives that
 * soon. A longer spin would take processor time from the thread that produces the answer.
 */
final class AnswerQueue<T> {

  private static final int SPINS = 100;

  private final ConcurrentLinkedQueue<T> items = new ConcurrentLinkedQueue<>();
  private final WakeSignal bell = new WakeSignal();

  /** Adds an item and wakes the reader. */
  void put(T item) {
    items.add(item);
    wake();
  }

  /** Ends the reader's wait early. */
  void wake() {
    bell.ring();
  }

  /** Returns the next item, or null if none arrives within this time or the reader is woken. */
  T poll(long nanos) {
    for (int i = 0; i < SPINS; i++) {
      T item = items.poll();
      if (item != null) {
        return item;
      }
      Thread.onSpinWait();
    }
    bell.await(() -> !items.isEmpty() || nanos <= 0, nanos);
    return items.poll();
  }
}
