package io.vertigrad.internal.exchange;

import io.vertigrad.strategy.Membership;

/**
 * Runs one round of requests to the servers, with their answers, on the caller's thread.
 *
 * <p>{@link #run} belongs to one thread. {@link #wake} and {@link #epoch} may be called by any.
 */
public interface PartitionExchange {

  /**
   * Sends one request per partition, in the round's order, and passes each answer to the round when
   * it arrives. Blocks until the last answer is there.
   *
   * @throws ExchangeException naming the shard, the partition, the step, the waiting time and the
   *     last response
   */
  Ending run(PartitionRound round);

  /**
   * Begins a round whose partitions become {@linkplain PartitionRound#isReady ready} one after the
   * other. Belongs to the thread that runs rounds. No other round may begin until this one is
   * closed.
   */
  default OpenRound begin(PartitionRound round) {
    return new OpenRound() {
      @Override
      public void sendReady() {}

      @Override
      public Ending finish() {
        return run(round);
      }

      @Override
      public void close() {}
    };
  }

  /** A round that has begun and is not closed. */
  interface OpenRound extends AutoCloseable {

    /** Sends the ready partitions for which the window has room. Does not wait. */
    void sendReady();

    /** Sends the rest, which must be ready now, and continues like {@link #run}. */
    Ending finish();

    /** Gives up the unanswered requests. */
    @Override
    void close();
  }

  /** Makes a thread inside {@link #run} check {@link PartitionRound#abandoned()} again. */
  void wake();

  /** Sets the new membership, and with it the servers of the shards; any thread. */
  default void membershipChanged(Membership now) {}

  /** Returns the membership epoch to write into new requests. */
  int epoch();

  /** How a round ended if it did not fail. */
  enum Ending {
    /** Every partition was answered. */
    COMPLETE,
    /** A server no longer knows this incarnation: join again. */
    REJOIN,
    /** {@link PartitionRound#abandoned()} became true. */
    ABANDONED
  }
}
