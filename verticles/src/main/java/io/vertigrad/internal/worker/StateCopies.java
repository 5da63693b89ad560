package io.vertigrad.internal.worker;

import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Copies of states in memory: those of a worker, and those of the rank before it. When that rank is
 * lost, its next worker gets the state from here and reads no checkpoint. A worker that waits for a
 * place holds those of all ranks.
 *
 * <p>Only workers in several processes need it, so the provider is in {@code vertigrad-cluster}.
 */
public interface StateCopies {

  /** Creates the copies of one worker. */
  interface Provider {

    /**
     * Creates an object without copies.
     *
     * @param layout hash of the layout of the replica's vector
     * @param clock monotonic clock in nanoseconds for waits
     * @param waits whether the worker waits for its first place
     */
    StateCopies create(
        Vertx vertx, JobConfig job, long layout, LongSupplier clock, BooleanSupplier waits);
  }

  /** Begins an incarnation. Completes when other ranks can get states from here. */
  Future<Void> open(SenderIdentity incarnation);

  /** Ends an incarnation, or the wait for a place; the states stay. */
  Future<Void> close();

  /** Sets the new membership of the job. */
  void membershipChanged(Membership now);

  /**
   * Keeps a state that the next worker of the rank may go on from.
   *
   * @param state copies the state, if it is wanted
   */
  void keep(int rank, RunVersion at, Supplier<SavedState> state);

  /**
   * Returns the states of the rank before this one.
   *
   * @param wanted whether a rank's state differs from that of the others, so that it is copied
   */
  List<RunVersion> held(boolean wanted);

  /** Returns the states of this worker's rank that are in this process. */
  List<RunVersion> own();

  /** Blocks until the members that copy this worker's states have the newest, or are silent. */
  void awaitHeld(BooleanSupplier stop);

  /**
   * Gets a state of this worker's rank from this process or the next rank; blocks.
   *
   * @return empty if neither has it
   * @throws io.vertigrad.strategy.GroupChangedException if it was stopped, or the next rank is gone
   */
  Optional<SavedState> fetch(RunVersion at, BooleanSupplier stop);
}
