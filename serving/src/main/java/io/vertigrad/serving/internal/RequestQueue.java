package io.vertigrad.serving.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Requests that wait, and the thread whose turn it is to answer them. Bounded by the number of
 * samples, and one request of more samples. Any thread may use it.
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

  /** Samples of waiting requests, except those of the large one. */
  private int samples;

  /** Samples of the waiting request that has more than {@link #most}; 0 if there is none. */
  private int large;

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
   * Adds a request, unless it does not fit. One that has more samples than the queue fits if no
   * other such one waits, and takes no place of the others. An admitted one always fits.
   *
   * @return false if the queue is full or closed
   */
  boolean offer(PredictionRequest request) {
    lock.lock();
    try {
      boolean isLarge = request.count() > most;
      boolean fits = isLarge ? large == 0 : samples + request.count() <= most;
      if (closed || !fits && !request.admitted()) {
        return false;
      }
      waiting.add(request);
      if (isLarge) {
        large = request.count();
      } else {
        samples += request.count();
      }
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
      return samples + large;
    } finally {
      lock.unlock();
    }
  }

  /** Returns whether not even a request of one sample fits. */
  boolean isFull() {
    lock.lock();
    try {
      return samples >= most;
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
    return samples + large >= maxBatch
        ? 0
        : maxWaitNanos - (System.nanoTime() - waiting.peek().arrivedNanos());
  }

  private List<PredictionRequest> batch() {
    List<PredictionRequest> batch = new ArrayList<>();
    int count = 0;
    while (!waiting.isEmpty() && (batch.isEmpty() || count + waiting.peek().count() <= maxBatch)) {
      PredictionRequest taken = waiting.poll();
      forget(taken);
      count += taken.count();
      batch.add(taken);
    }
    return batch;
  }

  private void forget(PredictionRequest taken) {
    if (taken.count() > most) {
      large = 0;
    } else {
      samples -= taken.count();
    }
  }

  /**
   * Takes up to {@code maxBatch} samples of the requests that wait now, without those that do not
   * fit. A thread that computes a large request in several passes answers them in between.
   */
  List<PredictionRequest> takeSmall() {
    lock.lock();
    try {
      List<PredictionRequest> small = new ArrayList<>();
      int count = 0;
      for (Iterator<PredictionRequest> all = waiting.iterator(); all.hasNext(); ) {
        PredictionRequest next = all.next();
        if (count + next.count() <= maxBatch) {
          all.remove();
          forget(next);
          count += next.count();
          small.add(next);
        }
      }
      return small;
    } finally {
      lock.unlock();
    }
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
      large = 0;
      changed.signalAll();
      return left;
    } finally {
      lock.unlock();
    }
  }
}
