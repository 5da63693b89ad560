package io.vertigrad.collective;

import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;

/** Sums a vector over all workers of a group. Afterwards all workers hold the same bits. */
public interface AllReduce {

  /**
   * Size limit in bytes of the direct algorithm, in which every worker sends to every other in one
   * step of latency; the ring takes {@code 2 (N - 1)} steps. The direct algorithm sends {@code N /
   * 2} times the ring's bytes in half the messages.
   */
  long DIRECT_BYTES = 64 << 10;

  /**
   * Largest number of workers of the direct algorithm, whose messages grow with the square of it.
   * More workers sum small vectors by recursive doubling, in more phases.
   */
  int DIRECT_WORKERS = 16;

  /**
   * Number of elements of the pieces of a large vector that go around the ring, 112 KiB. The pieces
   * in flight and their receive and send buffers then fit the second-level cache, and each piece is
   * large enough for a frame of its own.
   */
  int RING_ELEMENTS = 28_608;

  /**
   * Number of elements of the largest vector that goes around the ring in as few pieces as help.
   */
  int CACHED_ELEMENTS = 1 << 20;

  /**
   * Replaces the vector by the sum of all workers' vectors. The vector is undefined if the group
   * changes meanwhile.
   *
   * @param round number of the exchange: the same at all workers, and larger than that of any
   *     earlier one of this group
   * @param vector as many elements at all workers
   * @throws io.vertigrad.strategy.GroupChangedException when the group has changed: let it through
   */
  void sum(long round, float[] vector);

  /**
   * Sums a vector whose elements become final one after another; the bits are the same. The default
   * waits for all elements.
   *
   * @param round number of the exchange
   * @param vector as many elements at all workers
   * @param progress says which elements are final
   */
  default void sum(long round, float[] vector, GradientProgress progress) {
    progress.follow((first, end) -> {});
    progress.await();
    sum(round, vector);
  }

  /**
   * Returns the number of rounds that {@link #sum} uses, from the one that it is given.
   *
   * @return at least 1
   */
  default int rounds() {
    return 1;
  }

  /**
   * Returns the number of phases that {@link #sum} uses; they are counted from 0.
   *
   * @return at least 1
   */
  int phases();

  /**
   * Returns the number of elements of the largest piece that goes around the ring. A vector that
   * fits the cache is cut into two pieces a chunk, so that one is added while the other is on its
   * way: its messages cost more than its bytes.
   *
   * @param length number of elements of the vector
   * @param workers number of workers
   * @return at least 1
   */
  static int ringElements(int length, int workers) {
    int half = (length / workers + 2) / 2;
    return length <= CACHED_ELEMENTS ? Math.max(RING_ELEMENTS, half) : RING_ELEMENTS;
  }

  /**
   * Divides some elements of a vector. The bits are those of a division.
   *
   * @param vector holds the elements
   * @param first index of the first element
   * @param end index behind the last element
   * @param divisor for example the number of workers
   */
  static void divide(float[] vector, int first, int end, float divisor) {
    int mantissa = Float.floatToRawIntBits(divisor) & 0x7f_ffff;
    if (mantissa == 0) {
      // The reciprocal of a power of two is exact, and processors multiply several times faster
      // than they divide.
      float reciprocal = 1 / divisor;
      for (int i = first; i < end; i++) {
        vector[i] *= reciprocal;
      }
    } else {
      for (int i = first; i < end; i++) {
        vector[i] /= divisor;
      }
    }
  }

  /**
   * Returns the cheapest algorithm for vectors of this many elements.
   *
   * @param context connects this worker to the others
   * @param group the workers
   * @param length number of elements
   * @return a sum for this group
   */
  static AllReduce of(PeerContext context, PeerGroup group, int length) {
    return of(context, group, length, DIRECT_BYTES);
  }

  /**
   * Returns the cheaper algorithm for a vector of this many elements.
   *
   * @param context connects this worker to the others
   * @param group the workers
   * @param length number of elements
   * @param directBytes vectors up to this size do not use the ring
   * @return a sum for this group
   */
  static AllReduce of(PeerContext context, PeerGroup group, int length, long directBytes) {
    if ((long) length * context.type().bytes() > directBytes) {
      return new RingAllReduce(
          context.peers(), group, context.type(), context.pieceElements(), length);
    }
    return group.size() <= DIRECT_WORKERS
        ? new DirectAllReduce(context.peers(), group, context.type(), context.pieceElements())
        : new RecursiveDoubling(context.peers(), group, context.type(), context.pieceElements());
  }
}
