package io.vertigrad.internal.worker;

import io.vertigrad.internal.checkpoint.PartitionSnapshot;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Copies of saved states in memory: those of a worker, and those of the rank before it. When that
 * rank is lost, its next worker gets the state from here and reads no checkpoint.
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
     */
    StateCopies create(Vertx vertx, JobConfig job, long layout, LongSupplier clock);
  }

  /** Begins an incarnation. Completes when other ranks can get states from here. */
  Future<Void> open(SenderIdentity incarnation);

  /** Ends an incarnation; the states stay. */
  Future<Void> close();

  /** Sets the new membership of the job. */
  void membershipChanged(Membership now);

  /**
   * Keeps a state that was saved.
   *
   * @param state copies the state, if it is wanted
   */
  void keep(int rank, RunVersion at, Supplier<PartitionSnapshot> state);

  /**
   * Returns the states of the rank before this one.
   *
   * @param wanted whether a rank's state differs from that of the others, so that it is copied
   */
  List<RunVersion> held(boolean wanted);

  /**
   * Gets a state of this worker's rank from the next rank; blocks.
   *
   * @param stop ends the wait
   * @throws io.vertigrad.strategy.GroupChangedException if it was stopped, or the membership has
   *     changed
   * @throws io.vertigrad.internal.exchange.ExchangeException if the next rank has not got it
   */
  PartitionSnapshot fetch(RunVersion at, BooleanSupplier stop);
}
