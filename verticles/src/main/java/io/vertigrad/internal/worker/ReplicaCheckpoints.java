package io.vertigrad.internal.worker;

import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CheckpointWriter;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the checkpoints of one worker or stage: its replica or its part of the model, every N
 * steps, at the same steps in all workers.
 *
 * <p>The layout hash in a file also identifies the training run. Files of an earlier run in the
 * same folder are never mixed in. One copy may wait while the previous one is being written;
 * writing a third blocks the caller. Belongs to the thread that trains.
 */
public final class ReplicaCheckpoints implements AutoCloseable {

  /** One copy may wait while another is written. */
  private static final int MOST_PENDING = 2;

  private static final Logger LOG = LoggerFactory.getLogger(ReplicaCheckpoints.class);

  private final JobConfig job;
  private final long layoutHash;
  private final long interval;
  private final Supplier<List<Long>> saveAt;
  private final CheckpointWriter writer;
  private final boolean allRanks;
  private final Optional<StateCopies> copies;
  private List<Long> ordered = List.of();

  /**
   * Creates a worker's checkpoints.
   *
   * @param layoutHash hash of the layout of the replica's vector
   * @param interval versions between two checkpoints; 0 if the coordinator names the versions
   * @param keep number of checkpoints to keep per rank
   * @param allRanks true if all ranks write the same versions
   * @param owner knows the run
   * @param saveAt returns the versions of timed checkpoints that the coordinator has chosen; ranks
   *     that write versions of their own write one when it has chosen another
   * @param copies takes copies of saved states; empty if the states are in files only
   */
  public ReplicaCheckpoints(
      JobConfig job,
      long layoutHash,
      long interval,
      int keep,
      boolean allRanks,
      CheckpointWriter.Owner owner,
      Supplier<List<Long>> saveAt,
      Consumer<TrainingEvent> events,
      Optional<StateCopies> copies) {
    this.copies = copies;
    this.job = job;
    this.layoutHash = layoutHash;
    this.interval = interval;
    this.saveAt = saveAt;
    this.allRanks = allRanks;
    writer = new CheckpointWriter(job, Role.WORKER, keep, owner, events);
  }

  /** Returns true if a checkpoint of this version has to be written. */
  public boolean due(long version) {
    if (interval > 0) {
      return version % interval == 0;
    }
    List<Long> newest = saveAt.get();
    boolean changed = !newest.isEmpty() && !newest.equals(ordered);
    ordered = changed ? newest : ordered;
    return allRanks ? newest.contains(version) : changed;
  }

  private Future<Path> write(int rank, int incarnation, long run, SavedState state) {
    Checkpoint copy =
        new Checkpoint(
            job.addresses().jobHash(), rank, incarnation, layoutHash ^ run, List.of(state));
    RunVersion at = new RunVersion(state.version(), run);
    return writer.write(copy, () -> copies.ifPresent(all -> all.keep(rank, at, () -> state)));
  }

  /** Returns the copies of states; empty if the states are in files only. */
  public Optional<StateCopies> copies() {
    return copies;
  }

  /** Returns the rank's states in this process and in files, after pending writes have ended. */
  public List<RunVersion> points(int rank) {
    writer.awaitAll();
    try {
      writer.folder();
    } catch (IOException e) {
      throw new ExchangeException(name(rank) + ": " + e.getMessage());
    }
    Stream<RunVersion> inMemory = copies.stream().flatMap(all -> all.own().stream());
    return Stream.concat(inMemory, read(rank).stream().map(this::point)).distinct().toList();
  }

  /**
   * Returns a state that {@link #points} returned, or that the next rank holds; blocks.
   *
   * @param stop ends the wait for the next rank
   */
  public SavedState restore(int rank, RunVersion point, BooleanSupplier stop) {
    return copies
        .flatMap(all -> all.fetch(point, stop))
        .or(
            () ->
                read(rank).stream()
                    .filter(file -> point.equals(point(file)))
                    .map(file -> file.states().get(0))
                    .findFirst())
        .orElseThrow(
            () ->
                new ExchangeException(
                    "%s: the checkpoint of step %s has gone"
                        .formatted(name(rank), point.version())));
  }

  /** Closes the checkpoints; waits a short time for pending writes. */
  @Override
  public void close() {
    writer.close();
  }

  private RunVersion point(Checkpoint file) {
    return new RunVersion(file.version(), file.layout() ^ layoutHash);
  }

  private List<Checkpoint> read(int rank) {
    try {
      return writer
          .folder()
          .allValid(rank, torn -> LOG.warn("checkpoint skipped: {}", torn))
          .stream()
          .filter(file -> file.job() == job.addresses().jobHash())
          .filter(file -> file.states().size() == 1)
          .toList();
    } catch (IOException e) {
      throw new ExchangeException(
          "%s cannot read its checkpoints: %s".formatted(name(rank), FailureReason.of(e)));
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
    private SavedState copy;

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

    /** Returns the copies of saved states in memory; empty if there are none. */
    Optional<StateCopies> copies() {
      return checkpoints.copies;
    }

    /** Returns what the last checkpoint {@linkplain CheckpointWriter#costMillis cost}. */
    long costMillis() {
      return checkpoints.writer.costMillis();
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
              "%s checkpoints are being waited for already".formatted(MAX_REQUESTS));
    }

    /** Writes a checkpoint if one was requested. Call it only while no step is running. */
    public void idle(Supplier<Future<Path>> write) {
      Promise<Path> promise = requests.poll();
      if (promise != null) {
        write.get().onComplete(promise);
        checkpoints.writer.finishWithoutPauses();
      }
    }

    /**
     * Writes a checkpoint while training continues; blocks first while two copies are pending. The
     * state is copied on another thread, or on this thread before the replica changes.
     *
     * @param memory the strategy's memory; must not change
     */
    public Future<Path> write(ReplicaModel model, float[] memory) {
      changing();
      RunVersion state = model.state();
      // Before the copy, which a model on a device makes at once.
      checkpoints.writer.awaitFewer(MOST_PENDING);
      copy = model.copy(memory, checkpoints.writer.memory());
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
}
