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
 * Checkpoints of one incarnation of a worker or stage: those that are due, and those that are asked
 * for while no step goes on. {@link #ask} may be called by any thread, the rest belongs to the one
 * that trains.
 */
public final class ReplicaSaves {

  private static final int WAITING = 4;

  private final ReplicaCheckpoints checkpoints;
  private final int rank;
  private final int incarnation;
  private final BlockingQueue<Promise<Path>> asked = new ArrayBlockingQueue<>(WAITING);
  private PartitionCopy copy;

  /** For one incarnation. */
  public ReplicaSaves(ReplicaCheckpoints checkpoints, int rank, int incarnation) {
    this.checkpoints = checkpoints;
    this.rank = rank;
    this.incarnation = incarnation;
  }

  /** Asks for one; completes with the file. */
  public Future<Path> ask() {
    Promise<Path> promise = Promise.promise();
    return asked.offer(promise)
        ? promise.future()
        : Future.failedFuture("%d checkpoints are being waited for already".formatted(WAITING));
  }

  /** No step goes on: writes one if it was asked for. */
  public void idle(Supplier<Future<Path>> write) {
    Promise<Path> promise = asked.poll();
    if (promise != null) {
      write.get().onComplete(promise);
      checkpoints.hurry();
    }
  }

  /**
   * Has one written beside training.
   *
   * @param run which training the state belongs to
   * @param state makes a copy of what is there now; it is asked on another thread, or on this one
   *     before anything changes
   */
  public Future<Path> write(
      long version, long run, Function<CopyMemory, PartitionCopy.Source> state) {
    changing();
    copy = new PartitionCopy(version, state.apply(checkpoints.memory()));
    return checkpoints.write(rank, incarnation, run, copy);
  }

  /** The replica is about to change. */
  public void changing() {
    if (copy != null) {
      copy.make();
      copy = null;
    }
  }

  /** Whoever still waits is told why nothing comes; the next incarnation may change the replica. */
  public void close(String why) {
    changing();
    for (Promise<Path> late = asked.poll(); late != null; late = asked.poll()) {
      late.fail(why);
    }
  }
}
