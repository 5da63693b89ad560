package io.vertigrad.internal.worker;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.checkpoint.ShardCopy;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the checkpoints of one worker or stage: its replica or its part of the model, every N
 * steps, at the same steps in all workers.
 *
 * <p>The layout hash in a file also identifies the training run. Files of an earlier run in the
 * same folder are never mixed in. A separate thread writes the files in order. One copy may wait
 * while the previous one is being written; writing a third blocks the caller. Belongs to the thread
 * that trains.
 */
public final class ReplicaCheckpoints implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ReplicaCheckpoints.class);
  private static final long IDLE_SECONDS = 5;
  private static final long CLOSE_SECONDS = 2;

  /** Writing takes at most 1/COST of the time. */
  private static final long COST = 50;

  private final JobConfig job;
  private final long plan;
  private final long every;
  private final int keep;
  private final SaveOrders orders;
  private final boolean together;
  private volatile long lastMillis;
  private long dueNanos = System.nanoTime();
  private volatile CheckpointFolder folder;
  private final Consumer<TrainingEvent> events;
  private final ThreadPoolExecutor writer;
  private final CopyMemory memory = new CopyMemory();
  private volatile WritePace pace = new WritePace();

  /**
   * Creates a worker's checkpoints.
   *
   * @param plan hash of the layout of the replica's vector
   * @param every versions between two checkpoints; 0 if the coordinator names the version
   * @param keep number of checkpoints to keep per rank
   * @param together true if all ranks write the same versions
   * @param orders orders from the coordinator
   */
  public ReplicaCheckpoints(
      JobConfig job,
      long plan,
      long every,
      int keep,
      boolean together,
      SaveOrders orders,
      Consumer<TrainingEvent> events) {
    this.job = job;
    this.plan = plan;
    this.every = every;
    this.events = events;
    this.keep = keep;
    this.orders = orders;
    this.together = together;
    writer =
        new ThreadPoolExecutor(
            1,
            1,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(1),
            work -> {
              Thread thread = new Thread(work, "checkpoints of " + job.addresses().job());
              thread.setDaemon(true);
              return thread;
            },
            ReplicaCheckpoints::await);
    writer.allowCoreThreadTimeOut(true);
  }

  /** Returns true if a checkpoint of this version has to be written. */
  public boolean due(long version) {
    if (every > 0) {
      return version % every == 0;
    }
    return together ? version > 0 && version == orders.saveAt() : isTime();
  }

  /** Ranks that train at different speeds use their own clocks. */
  private boolean isTime() {
    long now = System.nanoTime();
    double least = Math.max(job.checkpoint().seconds(), COST * lastMillis / 1e3);
    if (!job.checkpoint().isTimed() || now - dueNanos < least * TimeUnit.SECONDS.toNanos(1)) {
      return false;
    }
    dueNanos = now;
    return true;
  }

  /**
   * Writes a checkpoint while training continues. A failure is logged and published as an event.
   *
   * @param state a copy, made on the writer thread unless it was made before
   * @return completes on the writer thread with the file
   */
  public Future<Path> write(int rank, int incarnation, long run, PartitionCopy state) {
    Promise<Path> written = Promise.promise();
    ShardCopy copy =
        new ShardCopy(job.addresses().jobHash(), rank, incarnation, plan ^ run, List.of(state));
    pace.finishWithoutPauses();
    WritePace mine = new WritePace();
    pace = mine;
    writer.execute(() -> write(copy, mine, written));
    return written.future();
  }

  /** Writes at full speed, because somebody waits for the current file. */
  void hurry() {
    pace.finishWithoutPauses();
  }

  /** Returns the memory for the copies. */
  CopyMemory memory() {
    return memory;
  }

  private void write(ShardCopy copy, WritePace mine, Promise<Path> written) {
    int rank = copy.shard();
    long version = copy.version();
    long begun = System.nanoTime();
    try {
      Path file = folder().write(copy, mine);
      long millis = (System.nanoTime() - begun) / 1_000_000 - mine.pausedMillis();
      lastMillis = millis;
      orders.took(millis);
      events.accept(
          new CheckpointWritten(
              System.currentTimeMillis(), rank, version, file.toString(), millis));
      written.complete(file);
    } catch (IOException | RuntimeException e) {
      LOG.warn("{} has no checkpoint of step {}: {}", name(rank), version, e.toString());
      events.accept(new CheckpointFailed(System.currentTimeMillis(), rank, version, e.toString()));
      written.fail(e);
    } finally {
      copy.release();
    }
  }

  /** Returns the states in this rank's complete files, after all pending writes have finished. */
  public List<RunVersion> points(int rank) {
    settle();
    try {
      folder();
    } catch (IOException e) {
      throw new ExchangeException(name(rank) + ": " + e.getMessage());
    }
    return read(rank).stream()
        .map(file -> new RunVersion(file.version(), file.layout() ^ plan))
        .distinct()
        .toList();
  }

  /** Reads a state that {@link #points} returned. */
  public PartitionSnapshot restore(int rank, RunVersion point) {
    return read(rank).stream()
        .filter(file -> file.version() == point.version() && (file.layout() ^ plan) == point.run())
        .findFirst()
        .orElseThrow(
            () ->
                new ExchangeException(
                    "%s: the checkpoint of step %d has gone"
                        .formatted(name(rank), point.version())))
        .partitions()
        .get(0);
  }

  /** Closes the checkpoints; waits a short time for pending writes. */
  @Override
  public void close() {
    pace.finishWithoutPauses();
    writer.shutdown();
    try {
      writer.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private List<ShardSnapshot> read(int rank) {
    try {
      return folder().allValid(rank, torn -> LOG.warn("checkpoint skipped: {}", torn)).stream()
          .filter(file -> file.job() == job.addresses().jobHash())
          .filter(file -> file.partitions().size() == 1)
          .toList();
    } catch (IOException e) {
      LOG.warn("{} cannot read its checkpoints: {}", name(rank), e.toString());
      return List.of();
    }
  }

  /**
   * Returns the run's folder and claims it for this run on first use. The run's name is known only
   * after the worker was admitted.
   */
  private CheckpointFolder folder() throws IOException {
    if (folder == null) {
      CheckpointFolder found =
          new CheckpointFolder(
              job.checkpoint().directoryOf(job.addresses().job(), orders.run()), keep);
      if (job.checkpoint().isOn()) {
        found.claim(orders.run());
      } else {
        found.belongsTo(orders.run());
      }
      folder = found;
    }
    return folder;
  }

  private void settle() {
    pace.finishWithoutPauses();
    Promise<Void> settled = Promise.promise();
    writer.execute(settled::complete);
    settled.future().toCompletionStage().toCompletableFuture().join();
  }

  /** Blocks the caller until the full queue has room. */
  private static void await(Runnable work, ThreadPoolExecutor full) {
    if (full.isShutdown()) {
      throw new IllegalStateException("checkpoints are closed");
    }
    try {
      full.getQueue().put(work);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ExchangeException("interrupted while a checkpoint was being written");
    }
  }

  private String name(int rank) {
    return job.nameOf(Role.WORKER.lower(), rank);
  }
}
