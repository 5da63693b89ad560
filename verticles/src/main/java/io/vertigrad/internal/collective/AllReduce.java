package io.vertigrad.internal.collective;

import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;

/** Sums a vector over all workers of a group, who then hold the same bits. */
public interface AllReduce {

  /**
   * Up to so many bytes a vector goes from each to each, in one step of latency where the ring
   * takes {@code 2 (N - 1)}; it sends {@code N / 2} times the ring's bytes, in half the messages.
   */
  long DIRECT_BYTES = 64 << 10;

  /**
   * Elements of the largest piece that goes around the ring, 112 KiB: those under way and the
   * memory they are read into and sent from then fit the second-level cache, and each is worth a
   * frame.
   */
  int RING_ELEMENTS = 28_608;

  /** Replaces the vector by the sum of all workers' vectors; spoilt when the group changes. */
  void sum(long round, float[] vector);

  /**
   * Likewise a vector of which elements become final one after the other, with the same bits; waits
   * for all of them by default.
   */
  default void sum(long round, float[] vector, GradientProgress progress) {
    progress.follow((first, end) -> {});
    progress.await();
    sum(round, vector);
  }

  /** Phases that {@link #sum} uses, from 0. */
  int phases();

  /**
   * The cheaper way for a vector of this many elements.
   *
   * @param directBytes a vector that takes no more goes from each to each
   */
  static AllReduce of(PeerContext context, PeerGroup group, int length, long directBytes) {
    return (long) length * context.type().bytes() <= directBytes
        ? new DirectAllReduce(context.peers(), group, context.type(), context.pieceElements())
        : new RingAllReduce(context.peers(), group, context.type(), context.pieceElements());
  }
}
