package io.vertigrad.strategy;

/**
 * The progress of a gradient that the worker is still computing. A rule can combine the final
 * elements while the rest is missing.
 */
public interface GradientProgress {

  /**
   * Blocks until the whole gradient is final.
   *
   * @throws GroupChangedException when it never will be, because the worker ends: abandon the round
   */
  void await();

  /**
   * Sets a follower that receives every element once it is final. Elements that are final already
   * are reported at once, on the calling thread; the rest later, on the thread that computes the
   * gradient. One range is reported at a time, and all of them before {@link #await} returns.
   *
   * @param follower must return quickly, because it delays the computation; if it throws, its
   *     worker fails
   */
  void follow(Follower follower);

  /** Receives notice of final elements. */
  @FunctionalInterface
  interface Follower {

    /**
     * Reports that a range of elements is final.
     *
     * @param first element of the exchange vector
     * @param end element after the last of them
     */
    void ready(int first, int end);
  }
}
