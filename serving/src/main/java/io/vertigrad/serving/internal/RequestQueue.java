package io.vertigrad.serving.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Requests that wait, and the thread whose turn it is to answer them. Bounded by the number of
 * samples. Any thread may use it.
 *
 * <p>Of two threads with a set of parameters each, one takes requests. When the turn changes, the
 * other one takes no request before the first has answered those that it took. So answers of newer
 * parameters never come before answers of older ones.
 */
final class RequestQueue {

  private final int most;
  private final int maxBatch;
  private final long maxWaitNanos;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<PredictionRequest> waiting = new ArrayDeque<>();
  private int samples;
  private Object turn;
  private boolean computing;
  private boolean closed;

  /**
   * Creates an empty queue.
   *
   * @param most largest number of samples that wait
   * @param maxBatch number of samples at which requests wait for no others
   * @param maxWaitMicros longest time that a request waits for others
   */
  RequestQueue(int most, int maxBatch, int maxWaitMicros) {
    this.most = most;
    this.maxBatch = maxBatch;
    this.maxWaitNanos = TimeUnit.MICROSECONDS.toNanos(maxWaitMicros);
  }

  /**
   * Adds a request, unless it does not fit. A request of any size fits if no other one waits.
   *
   * @return false if the queue is full or closed
   */
  boolean offer(PredictionRequest request) {
    lock.lock();
    try {
      boolean fits = waiting.isEmpty() || samples + request.count() <= most;
      if (closed || !fits) {
        return false;
      }
      waiting.add(request);
      samples += request.count();
      changed.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the number of samples that wait. */
  int samples() {
    lock.lock();
    try {
      return samples;
    } finally {
      lock.unlock();
    }
  }

  /** Gives a thread the turn. */
  void turn(Object thread) {
    lock.lock();
    try {
      turn = thread;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits for requests and takes up to {@code maxBatch} samples, or one larger request. The caller
   * answers them and then calls {@link #done}.
   *
   * @return empty if the turn is another thread's, or the queue is closed
   */
  List<PredictionRequest> take(Object thread) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      while (true) {
        if (turn != thread || closed) {
          return List.of();
        }
        long nanos = computing || waiting.isEmpty() ? Long.MAX_VALUE : nanosToWait();
        if (nanos <= 0) {
          computing = true;
          return batch();
        }
        if (nanos == Long.MAX_VALUE) {
          changed.await();
        } else {
          changed.awaitNanos(nanos);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns how long the oldest request still waits for others. */
  private long nanosToWait() {
    return samples >= maxBatch
        ? 0
        : maxWaitNanos - (System.nanoTime() - waiting.peek().arrivedNanos());
  }

  private List<PredictionRequest> batch() {
    List<PredictionRequest> batch = new ArrayList<>();
    int count = 0;
    while (!waiting.isEmpty() && (batch.isEmpty() || count + next() <= maxBatch)) {
      count += next();
      batch.add(waiting.poll());
    }
    samples -= count;
    return batch;
  }

  private int next() {
    return waiting.peek().count();
  }

  /** Ends a turn's forward pass: its requests are answered. */
  void done() {
    lock.lock();
    try {
      computing = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Refuses further requests, and returns those that wait. */
  List<PredictionRequest> close() {
    lock.lock();
    try {
      closed = true;
      List<PredictionRequest> left = List.copyOf(waiting);
      waiting.clear();
      samples = 0;
      changed.signalAll();
      return left;
    } finally {
      lock.unlock();
    }
  }
}
