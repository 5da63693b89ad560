package io.vertigrad.internal.checkpoint;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the checkpoints of one member into the folder of its run, in order, on a thread of its
 * own, and announces each. Knows when the next timed one is due. Any thread may call it.
 *
 * <p>Writing pauses now and then, until somebody waits for the file or another one follows. The
 * thread ends when it is idle. Memory: the copies that were begun; their number is limited by the
 * callers.
 */
public final class CheckpointWriter implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(CheckpointWriter.class);
  private static final long IDLE_SECONDS = 5;
  private static final long CLOSE_SECONDS = 2;

  /** A disk that is busy with checkpoints for half of the time is as costly as a busy processor. */
  private static final long DISK_SHARE = 25;

  private final JobConfig job;
  private final Role role;
  private final int keep;
  private final Owner owner;
  private final Consumer<TrainingEvent> events;
  private final ThreadPoolExecutor thread;
  private final CopyMemory memory = new CopyMemory();
  private volatile CheckpointFolder folder;
  private volatile boolean known;
  private volatile WritePace pace = new WritePace();
  private volatile List<Long> versions = List.of();
  private volatile long costMillis;
  private int pending;

  /**
   * The run of a member, which it knows once it was admitted.
   *
   * @param run returns the name of the run
   * @param fingerprints returns those of the data and model files with which the member trains
   */
  public record Owner(Supplier<String> run, Supplier<Map<String, DataFingerprint>> fingerprints) {}

  /**
   * Creates a writer that has not written anything.
   *
   * @param role of the member, for messages
   * @param keep number of checkpoints to keep per rank
   */
  public CheckpointWriter(
      JobConfig job, Role role, int keep, Owner owner, Consumer<TrainingEvent> events) {
    this.job = job;
    this.role = role;
    this.keep = keep;
    this.owner = owner;
    this.events = events;
    thread =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            work -> {
              Thread writing = new Thread(work, "checkpoints of " + job.addresses().job());
              writing.setDaemon(true);
              return writing;
            });
    thread.allowCoreThreadTimeOut(true);
  }

  /** Returns the memory for copies. */
  public CopyMemory memory() {
    return memory;
  }

  /**
   * Returns the run's folder. Claims it for this run if the job writes checkpoints. Blocks.
   *
   * @throws IOException if it belongs to another run
   */
  public CheckpointFolder folder() throws IOException {
    if (folder == null) {
      CheckpointFolder found =
          new CheckpointFolder(
              job.checkpoint().directoryOf(job.addresses().job(), owner.run().get()),
              keep,
              owner.fingerprints().get());
      known =
          job.checkpoint().isOn()
              ? found.claim(owner.run().get())
              : found.belongsTo(owner.run().get());
      folder = found;
    }
    return folder;
  }

  /** Returns whether the folder was already this run's when it was opened. */
  public boolean isKnown() {
    return known;
  }

  /** Returns how many copies are being written or wait for it. */
  public synchronized int pending() {
    return pending;
  }

  /**
   * Blocks while this many copies are pending.
   *
   * @throws ExchangeException if the thread is interrupted
   */
  public synchronized void awaitFewer(int copies) {
    try {
      while (pending >= copies) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ExchangeException("interrupted while a checkpoint was being written");
    }
  }

  /**
   * Writes a copy after those before it. A failure is logged and announced.
   *
   * @param copy is completed by the writer's thread, unless it was completed before
   * @param before uses the copy before the file is written, on the writer's thread
   * @return completes with the file, on the writer's thread
   */
  public Future<Path> write(Checkpoint copy, Runnable before) {
    Promise<Path> written = Promise.promise();
    finishWithoutPauses();
    WritePace filePace = new WritePace();
    pace = filePace;
    synchronized (this) {
      pending++;
    }
    thread.execute(
        () -> {
          try {
            before.run();
            written.complete(writeNow(copy, filePace));
          } catch (Throwable e) {
            // Callers wait for this file: an OutOfMemoryError, too, must end their wait.
            try {
              failed(copy, e);
            } finally {
              written.tryFail(e);
            }
          } finally {
            copy.release();
            synchronized (this) {
              pending--;
              notifyAll();
            }
          }
        });
    return written.future();
  }

  private Path writeNow(Checkpoint copy, WritePace filePace) throws IOException {
    long begun = System.nanoTime();
    folder().claim(owner.run().get());
    Path file = folder().write(copy, filePace);
    versions = folder().versions(copy.rank());
    long millis =
        TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun) - filePace.pausedMillis();
    costMillis = Math.max(filePace.processorMillis(), millis / DISK_SHARE);
    events.accept(
        new CheckpointWritten(
            System.currentTimeMillis(), copy.rank(), copy.version(), file.toString(), millis));
    return file;
  }

  private void failed(Checkpoint copy, Throwable failure) {
    String why = FailureReason.of(failure);
    LOG.warn(
        "{} has no checkpoint of version {}: {}",
        job.nameOf(role.lower(), copy.rank()),
        copy.version(),
        why);
    events.accept(
        new CheckpointFailed(System.currentTimeMillis(), copy.rank(), copy.version(), why));
  }

  /** Returns the versions on the disk after the last checkpoint, the newest file first. */
  public List<Long> versions() {
    return versions;
  }

  /** Reads the versions on the disk. Blocks. */
  public void findVersions(int rank) throws IOException {
    CheckpointFolder found = folder();
    versions = known ? found.versions(rank) : List.of();
  }

  /**
   * Returns what the last checkpoint cost training, in milliseconds: the processor's time to write
   * it, or where the disk is slow a part of the whole time; 0 before any.
   */
  public long costMillis() {
    return costMillis;
  }

  /** Writes at full speed, because somebody waits for the current file. */
  public void finishWithoutPauses() {
    pace.finishWithoutPauses();
  }

  /** Blocks until everything that was begun is on the disk, or has failed. */
  public void awaitAll() {
    finishWithoutPauses();
    awaitFewer(1);
  }

  /** Waits a short time for what was begun, and takes nothing more. */
  @Override
  public void close() {
    finishWithoutPauses();
    thread.shutdown();
    try {
      thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
