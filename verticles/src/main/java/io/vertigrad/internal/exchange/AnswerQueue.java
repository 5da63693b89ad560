package io.vertigrad.internal.exchange;

import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Hands answers from any thread to the one thread that waits for them.
 *
 * <p>It holds at most one item per request in flight, so it needs no bound of its own. The reader
 * spins for some microseconds before it parks: an answer within the JVM is often that close, and a
 * longer spin would take the processor from whoever makes the answer.
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

  /** The next item, or null after this long or when woken. */
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
