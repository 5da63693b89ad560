package io.vertigrad.internal.exchange;

import io.vertigrad.strategy.Membership;

/**
 * Carries one round of requests to the servers and their answers back, on the caller's thread.
 *
 * <p>{@link #run} belongs to one thread; {@link #wake} and {@link #epoch} may be called by any.
 */
public interface PartitionExchange {

  /**
   * Sends one request per partition, in the round's order, and hands each answer to the round as it
   * arrives; blocks until the last one is there.
   *
   * @throws ExchangeException naming shard, partition, step, how long and the last thing heard
   */
  Ending run(PartitionRound round);

  /** Makes a thread inside {@link #run} look at {@link PartitionRound#abandoned()} again. */
  void wake();

  /** Tells who takes part from now on, and so where the shards are; any thread. */
  default void membershipChanged(Membership now) {}

  /** The membership epoch to write into new requests. */
  int epoch();

  /** How a round ended when it did not fail. */
  enum Ending {
    /** Every partition was answered. */
    COMPLETE,
    /** A server does not know this incarnation any more: join again. */
    REJOIN,
    /** {@link PartitionRound#abandoned()} became true. */
    ABANDONED
  }
}
