package io.vertigrad.internal.worker;

import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import java.util.Optional;

/**
 * Lets one incarnation of a worker without servers agree with each new group on the version that
 * all continue from.
 *
 * <p>{@link #settle} and {@link #isFresh} are called by the strategy's thread while the worker
 * waits, the rest by the worker's thread.
 */
public interface ReplicaAgreement {

  /**
   * Agrees with a new group on a version to continue from, before the strategy does.
   *
   * @param rule the strategy, whose memory may have to be restored
   * @return the group of the strategy; empty if no step can be taken with this group
   */
  Optional<PeerGroup> settle(PeerGroup all, PeerStrategy rule);

  /**
   * Returns true while the parameters are the initial ones, for a strategy that agrees on its own.
   */
  boolean isFresh();

  /** Returns true if {@link #settle} refused a group and would accept the same group now. */
  default boolean reconsiders() {
    return false;
  }

  /** Returns true once this incarnation has a state that a requested checkpoint may hold. */
  default boolean isSettled() {
    return true;
  }

  /** Handles a version that was reached by a step or by {@link #settle}. */
  default void reached() {}
}
