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
 * One worker's checkpoints: its replica, or its stage, at every so many steps, the same steps in
 * all workers.
 *
 * <p>A file says which training it is of in its layout's hash, so that an earlier one's in the same
 * folder is never mixed in. Files are written in order on a thread of their own; a copy waits while
 * the one before it is written, and whoever brings a third waits with it. Belongs to the thread
 * that trains.
 */
public final class ReplicaCheckpoints implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(ReplicaCheckpoints.class);
  private static final long IDLE_SECONDS = 5;
  private static final long CLOSE_SECONDS = 2;

  /** Writing takes at most one part in so many of the time. */
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
   * A worker's checkpoints.
   *
   * @param plan hash of what the vector means
   * @param every versions between two of them; 0 where the coordinator names the version
   * @param keep how many stay of each rank
   * @param together true where all ranks write the same versions
   * @param orders from the coordinator
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

  /** True at the versions of which a checkpoint is written. */
  public boolean due(long version) {
    if (every > 0) {
      return version % every == 0;
    }
    return together ? version > 0 && version == orders.saveAt() : isTime();
  }

  /** Ranks that go their own pace go by their own clocks. */
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
   * Writes one beside training; when that fails it says so, and training goes on.
   *
   * @param state a copy, which is made on the writing thread if nobody has made it before
   * @return completes on the writing thread with the file
   */
  public Future<Path> write(int rank, int incarnation, long run, PartitionCopy state) {
    Promise<Path> written = Promise.promise();
    ShardCopy copy =
        new ShardCopy(job.addresses().jobHash(), rank, incarnation, plan ^ run, List.of(state));
    pace.hurry();
    WritePace mine = new WritePace();
    pace = mine;
    writer.execute(() -> write(copy, mine, written));
    return written.future();
  }

  /** Somebody waits for what is being written. */
  void hurry() {
    pace.hurry();
  }

  /** What copies are made in. */
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

  /** States that whole files of this rank hold, once all that was begun is written. */
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

  /** The state of a point that {@link #points} named. */
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

  /** Waits a little for what is being written. */
  @Override
  public void close() {
    pace.hurry();
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
   * The run's folder, which this worker makes its own when it first needs it: the run is known once
   * the worker was admitted.
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
    pace.hurry();
    Promise<Void> settled = Promise.promise();
    writer.execute(settled::complete);
    settled.future().toCompletionStage().toCompletableFuture().join();
  }

  /** The queue is full: its owner waits until there is room. */
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
