package io.vertigrad.internal.worker;

import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.PartitionCopy;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Writes the checkpoints of one incarnation of a worker or stage: the scheduled ones, and requested
 * ones while no step is running. {@link #ask} may be called by any thread, the rest belongs to the
 * thread that trains.
 */
public final class ReplicaSaves {

  private static final int WAITING = 4;

  private final ReplicaCheckpoints checkpoints;
  private final int rank;
  private final int incarnation;
  private final BlockingQueue<Promise<Path>> asked = new ArrayBlockingQueue<>(WAITING);
  private PartitionCopy copy;

  /** Creates the checkpoints of one incarnation. */
  public ReplicaSaves(ReplicaCheckpoints checkpoints, int rank, int incarnation) {
    this.checkpoints = checkpoints;
    this.rank = rank;
    this.incarnation = incarnation;
  }

  /** Requests a checkpoint. Completes with the file. */
  public Future<Path> ask() {
    Promise<Path> promise = Promise.promise();
    return asked.offer(promise)
        ? promise.future()
        : Future.failedFuture("%d checkpoints are being waited for already".formatted(WAITING));
  }

  /** Writes a checkpoint if one was requested. Call it only while no step is running. */
  public void idle(Supplier<Future<Path>> write) {
    Promise<Path> promise = asked.poll();
    if (promise != null) {
      write.get().onComplete(promise);
      checkpoints.hurry();
    }
  }

  /**
   * Writes a checkpoint while training continues.
   *
   * @param run the training run that the state belongs to
   * @param state makes a copy of the current state; called on another thread, or on this thread
   *     before the replica changes
   */
  public Future<Path> write(
      long version, long run, Function<CopyMemory, PartitionCopy.Source> state) {
    changing();
    copy = new PartitionCopy(version, state.apply(checkpoints.memory()));
    return checkpoints.write(rank, incarnation, run, copy);
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
    for (Promise<Path> late = asked.poll(); late != null; late = asked.poll()) {
      late.fail(why);
    }
  }
}
