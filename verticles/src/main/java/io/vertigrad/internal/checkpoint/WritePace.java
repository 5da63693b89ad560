package io.vertigrad.internal.checkpoint;

import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The speed at which a checkpoint is written during training. The writer pauses, so that it uses
 * one part in {@value #SHARE} of one processor, until somebody waits for the file.
 *
 * <p>{@link #finishWithoutPauses} may be called by any thread, the rest belongs to the thread that
 * writes.
 */
public final class WritePace {

  private static final int SHARE = 16;

  /** Bytes between two pauses. */
  private static final int SLICE_BYTES = 1 << 20;

  /** Limits the pauses of a file, because a server that is lost meanwhile restores an older one. */
  private static final long MOST_PAUSED_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final LongSupplier processorNanos;
  private long firstNanos;
  private long startedNanos;
  private int bytes;
  private long pausedNanos;
  private boolean withoutPauses;

  /** Creates a pace that is based on the processor time of the writing thread. */
  public WritePace() {
    this(THREADS.isCurrentThreadCpuTimeSupported() ? THREADS::getCurrentThreadCpuTime : () -> 0L);
  }

  /** Creates a pace that is based on the given clock. A clock that stands still gives no pauses. */
  WritePace(LongSupplier processorNanos) {
    this.processorNanos = processorNanos;
  }

  /** Begins to write on the calling thread. */
  public void begin() {
    startedNanos = processorNanos.getAsLong();
    firstNanos = startedNanos;
  }

  /**
   * Returns the processor time since {@link #begin}, in milliseconds; on the thread that writes.
   */
  long processorMillis() {
    return TimeUnit.NANOSECONDS.toMillis(processorNanos.getAsLong() - firstNanos);
  }

  /** Records the bytes copied before writing: the first write pauses for the time of the copy. */
  void copied(long copiedBytes) {
    bytes = (int) Math.min(SLICE_BYTES, copiedBytes);
  }

  /**
   * Pauses before a write for as long as earlier writes require.
   *
   * @param next bytes that are written next
   * @throws InterruptedIOException if the thread is interrupted
   */
  public void writing(int next) throws InterruptedIOException {
    if (bytes >= SLICE_BYTES) {
      long now = processorNanos.getAsLong();
      await((now - startedNanos) * (SHARE - 1));
      startedNanos = now;
      bytes = 0;
    }
    bytes += next;
  }

  /** Ends all pauses, because somebody waits for the file. */
  public synchronized void finishWithoutPauses() {
    withoutPauses = true;
    notifyAll();
  }

  /** Returns how long the writer has paused so far. */
  public synchronized long pausedMillis() {
    return TimeUnit.NANOSECONDS.toMillis(pausedNanos);
  }

  private synchronized void await(long nanos) throws InterruptedIOException {
    long pauseStartedNanos = System.nanoTime();
    long left = Math.min(nanos, MOST_PAUSED_NANOS - pausedNanos);
    try {
      for (long until = pauseStartedNanos + left;
          !withoutPauses && left > 0;
          left = until - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a checkpoint was written");
    } finally {
      pausedNanos += System.nanoTime() - pauseStartedNanos;
    }
  }
}
