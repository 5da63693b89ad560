package io.vertigrad.internal.checkpoint;

import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * How fast a checkpoint is written beside training: with pauses, so that its thread has one part in
 * {@value #SHARE} of one processor, until somebody waits for the file.
 *
 * <p>{@link #hurry} may be called by any thread, the rest belongs to the one that writes.
 */
public final class WritePace {

  private static final int SHARE = 16;

  /** What takes no longer than a pause is not interrupted by any. */
  private static final int SLICE_BYTES = 1 << 20;

  /** A server that is lost meanwhile goes back to the file before; so no file may take for ever. */
  private static final long MOST_PAUSED_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final LongSupplier processorNanos;
  private long startedNanos;
  private int bytes;
  private long pausedNanos;
  private boolean hurried;

  /** A pace by the time that the writing thread had of its processor. */
  public WritePace() {
    this(THREADS.isCurrentThreadCpuTimeSupported() ? THREADS::getCurrentThreadCpuTime : () -> 0L);
  }

  /** A pace by a clock of the caller's, which stands still where there are to be no pauses. */
  WritePace(LongSupplier processorNanos) {
    this.processorNanos = processorNanos;
  }

  /** The thread that calls this begins to write. */
  public void begin() {
    startedNanos = processorNanos.getAsLong();
  }

  /** So much that is to be written was copied: training rests from that before the first byte. */
  void copied(long copiedBytes) {
    bytes = (int) Math.min(SLICE_BYTES, copiedBytes);
  }

  /**
   * So many bytes are about to be written: pauses for as long as those before ask for.
   *
   * @throws InterruptedIOException when the thread is interrupted
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

  /** Somebody waits for the file: no more pauses. */
  public synchronized void hurry() {
    hurried = true;
    notifyAll();
  }

  /** For how long it has paused so far. */
  public synchronized long pausedMillis() {
    return TimeUnit.NANOSECONDS.toMillis(pausedNanos);
  }

  private synchronized void await(long nanos) throws InterruptedIOException {
    long begun = System.nanoTime();
    long left = Math.min(nanos, MOST_PAUSED_NANOS - pausedNanos);
    try {
      for (long until = begun + left; !hurried && left > 0; left = until - System.nanoTime()) {
        TimeUnit.NANOSECONDS.timedWait(this, left);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a checkpoint was written");
    } finally {
      pausedNanos += System.nanoTime() - begun;
    }
  }
}
