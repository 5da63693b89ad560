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

  /**
   * Begins a round whose partitions become {@linkplain PartitionRound#isReady ready} one after the
   * other, on the thread that runs rounds; no other round until it is closed.
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

  /** A round that was begun and is not over. */
  interface OpenRound extends AutoCloseable {

    /** Sends what is ready and has room in the window; waits for nothing. */
    void sendReady();

    /** Sends the rest, all of which is ready now, and goes on as {@link #run}. */
    Ending finish();

    /** Lets go of whatever is unanswered. */
    @Override
    void close();
  }

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
