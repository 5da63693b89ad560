package io.vertigrad.compute.data;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A bounded queue from one producing thread to its consumer, which also carries the producer's
 * failure.
 *
 * <p>Items arrive in order; the consumer sees a failure after the items before it.
 */
final class Handoff<T> {

  private final Deque<T> items = new ArrayDeque<>();
  private final int capacity;
  private RuntimeException failure;
  private boolean closed;

  Handoff(int capacity) {
    this.capacity = capacity;
  }

  /** Adds an item; waits for room until {@link #close()}. Returns false if the queue was closed. */
  synchronized boolean put(T item) throws InterruptedException {
    while (!closed && items.size() >= capacity) {
      wait();
    }
    if (!closed) {
      items.add(item);
      notifyAll();
    }
    return !closed;
  }

  /** Ends the queue with a failure: {@link #take} throws it after the last item. */
  synchronized void fail(RuntimeException cause) {
    failure = cause;
    notifyAll();
  }

  /** Returns the next item, and waits for it if necessary. */
  synchronized T take(long timeoutMillis) throws InterruptedException, TimeoutException {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    while (!closed && items.isEmpty() && failure == null) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        throw new TimeoutException();
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    if (closed) {
      throw new IllegalStateException("closed");
    }
    if (items.isEmpty()) {
      throw failure;
    }
    notifyAll();
    return items.remove();
  }

  /** Returns the next item if there is one, and leaves it there. */
  synchronized Optional<T> peek() {
    return Optional.ofNullable(items.peek());
  }

  /** Discards all items and wakes both sides. */
  synchronized void close() {
    closed = true;
    items.clear();
    notifyAll();
  }
}
