package io.vertigrad.compute.data;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A bounded queue from one producing thread to its consumer that also carries the producer's end.
 *
 * <p>Items arrive in order; a failure is seen after the items put before it.
 */
final class Handoff<T> {

  private final Deque<T> items = new ArrayDeque<>();
  private final int capacity;
  private RuntimeException failure;
  private boolean closed;

  Handoff(int capacity) {
    this.capacity = capacity;
  }

  /** Waits for room, until {@link #close()}; says whether the item is still wanted. */
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

  /** The producer's last word: {@link #take} throws it once the items are used up. */
  synchronized void fail(RuntimeException cause) {
    failure = cause;
    notifyAll();
  }

  /** The next item, waiting for it if need be. */
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

  /** Forgets all items and wakes both sides. */
  synchronized void close() {
    closed = true;
    items.clear();
    notifyAll();
  }
}
