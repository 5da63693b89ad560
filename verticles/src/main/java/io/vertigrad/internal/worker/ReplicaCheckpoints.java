package io.vertigrad.internal.worker;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.settings.FailureReason;
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
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
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

  /** Writing takes at most one part in {@value} of the time. */
  private static final long MAX_TIME_SHARE = 50;

  private final JobConfig job;
  private final long layoutHash;
  private final long interval;
  private final int keep;
  private final SaveOrders saveOrders;
  private final boolean allRanks;
  private volatile long lastMillis;
  private long lastTimedNanos = System.nanoTime();
  private volatile CheckpointFolder folder;
  private final Consumer<TrainingEvent> events;
  private final ThreadPoolExecutor writer;
  private final CopyMemory memory = new CopyMemory();
  private volatile WritePace pace = new WritePace();

  /**
   * Creates a worker's checkpoints.
   *
   * @param layoutHash hash of the layout of the replica's vector
   * @param interval versions between two checkpoints; 0 if the coordinator names the version
   * @param keep number of checkpoints to keep per rank
   * @param allRanks true if all ranks write the same versions
   * @param saveOrders orders from the coordinator
   */
  public ReplicaCheckpoints(
      JobConfig job,
      long layoutHash,
      long interval,
      int keep,
      boolean allRanks,
      SaveOrders saveOrders,
      Consumer<TrainingEvent> events) {
    this.job = job;
    this.layoutHash = layoutHash;
    this.interval = interval;
    this.events = events;
    this.keep = keep;
    this.saveOrders = saveOrders;
    this.allRanks = allRanks;
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
    if (interval > 0) {
      return version % interval == 0;
    }
    return allRanks ? version > 0 && version == saveOrders.saveAt() : isTime();
  }

  /** Ranks that train at different speeds use their own clocks. */
  private boolean isTime() {
    long now = System.nanoTime();
    double least = Math.max(job.checkpoint().seconds(), MAX_TIME_SHARE * lastMillis / 1e3);
    if (!job.checkpoint().isTimed() || now - lastTimedNanos < least * TimeUnit.SECONDS.toNanos(1)) {
      return false;
    }
    lastTimedNanos = now;
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
        new ShardCopy(
            job.addresses().jobHash(), rank, incarnation, layoutHash ^ run, List.of(state));
    pace.finishWithoutPauses();
    WritePace filePace = new WritePace();
    pace = filePace;
    writer.execute(() -> write(copy, filePace, written));
    return written.future();
  }

  /** Writes at full speed, because somebody waits for the current file. */
  private void stopPausing() {
    pace.finishWithoutPauses();
  }

  /** Returns the memory for the copies. */
  private CopyMemory memory() {
    return memory;
  }

  private void write(ShardCopy copy, WritePace filePace, Promise<Path> written) {
    int rank = copy.shard();
    long version = copy.version();
    long begun = System.nanoTime();
    try {
      Path file = folder().write(copy, filePace);
      long millis = (System.nanoTime() - begun) / 1_000_000 - filePace.pausedMillis();
      lastMillis = millis;
      saveOrders.recordSaveMillis(millis);
      events.accept(
          new CheckpointWritten(
              System.currentTimeMillis(), rank, version, file.toString(), millis));
      written.complete(file);
    } catch (IOException | RuntimeException e) {
      String why = FailureReason.of(e);
      LOG.warn("{} has no checkpoint of step {}: {}", name(rank), version, why);
      events.accept(new CheckpointFailed(System.currentTimeMillis(), rank, version, why));
      written.fail(e);
    } finally {
      copy.release();
    }
  }

  /** Returns the states in this rank's complete files, after all pending writes have finished. */
  public List<RunVersion> points(int rank) {
    awaitWrites();
    try {
      folder();
    } catch (IOException e) {
      throw new ExchangeException(name(rank) + ": " + e.getMessage());
    }
    return read(rank).stream()
        .map(file -> new RunVersion(file.version(), file.layout() ^ layoutHash))
        .distinct()
        .toList();
  }

  /** Reads a state that {@link #points} returned. */
  public PartitionSnapshot restore(int rank, RunVersion point) {
    return read(rank).stream()
        .filter(
            file ->
                file.version() == point.version() && (file.layout() ^ layoutHash) == point.run())
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
      LOG.warn("{} cannot read its checkpoints: {}", name(rank), FailureReason.of(e));
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
              job.checkpoint().directoryOf(job.addresses().job(), saveOrders.run()),
              keep,
              saveOrders.fingerprints());
      if (job.checkpoint().isOn()) {
        found.claim(saveOrders.run());
      } else {
        found.belongsTo(saveOrders.run());
      }
      folder = found;
    }
    return folder;
  }

  private void awaitWrites() {
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

  /**
   * Writes the checkpoints of one incarnation of a worker or stage: the scheduled ones, and
   * requested ones while no step is running. {@link #ask} may be called by any thread, the rest
   * belongs to the thread that trains.
   */
  public static final class ReplicaSaves {

    private static final int MAX_REQUESTS = 4;

    private final ReplicaCheckpoints checkpoints;
    private final int rank;
    private final int incarnation;
    private final boolean scheduled;
    private final BlockingQueue<Promise<Path>> requests = new ArrayBlockingQueue<>(MAX_REQUESTS);
    private PartitionCopy copy;

    /**
     * Creates the checkpoints of one incarnation.
     *
     * @param scheduled false if only requested checkpoints are written
     */
    public ReplicaSaves(
        ReplicaCheckpoints checkpoints, int rank, int incarnation, boolean scheduled) {
      this.checkpoints = checkpoints;
      this.rank = rank;
      this.incarnation = incarnation;
      this.scheduled = scheduled;
    }

    /** Returns true if a checkpoint of this version has to be written. */
    public boolean due(long version) {
      return scheduled && checkpoints.due(version);
    }

    /** Requests a checkpoint. Completes with the file. */
    public Future<Path> ask() {
      Promise<Path> promise = Promise.promise();
      return requests.offer(promise)
          ? promise.future()
          : Future.failedFuture(
              "%d checkpoints are being waited for already".formatted(MAX_REQUESTS));
    }

    /** Writes a checkpoint if one was requested. Call it only while no step is running. */
    public void idle(Supplier<Future<Path>> write) {
      Promise<Path> promise = requests.poll();
      if (promise != null) {
        write.get().onComplete(promise);
        checkpoints.stopPausing();
      }
    }

    /**
     * Writes a checkpoint while training continues. The state is copied on another thread, or on
     * this thread before the replica changes.
     *
     * @param memory the strategy's memory; must not change
     */
    public Future<Path> write(ReplicaModel model, float[] memory) {
      changing();
      RunVersion state = model.state();
      copy = model.copy(memory, checkpoints.memory());
      return checkpoints.write(rank, incarnation, state.run(), copy);
    }

    /** Completes the pending copy. Call it before the replica changes. */
    public void changing() {
      if (copy != null) {
        copy.make();
        copy = null;
      }
    }

    /** Fails pending requests with the reason. The next incarnation may change the replica. */
    public void close(String why) {
      changing();
      for (Promise<Path> pending = requests.poll(); pending != null; pending = requests.poll()) {
        pending.fail(why);
      }
    }
  }

  /**
   * A state that a replica can continue from: a version, and the run that reached it.
   *
   * @param version number of steps taken
   * @param run the training run that took them; 0 before the first agreement
   */
  public record RunVersion(long version, long run) {

    /** The initial parameters, which follow from the seed. */
    public static final RunVersion BEGINNING = new RunVersion(0, 0);
  }

  /** The coordinator's orders for a worker's checkpoints. May be called by any thread. */
  public interface SaveOrders {

    /** Returns the name of the run that checkpoints belong to, once the worker was admitted. */
    String run();

    /** Returns the fingerprints of the data and model files with which the worker trains. */
    default Map<String, DataFingerprint> fingerprints() {
      return Map.of();
    }

    /** Returns the version at which all members write a timed checkpoint; 0 for none. */
    long saveAt();

    /** Records how long a checkpoint took to write. */
    void recordSaveMillis(long millis);
  }
}
