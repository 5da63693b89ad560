package io.vertigrad.strategy;

/**
 * How far a gradient has come that its worker is still computing, for a rule that begins to combine
 * what is final while the rest is missing.
 */
public interface GradientProgress {

  /**
   * Waits until all of the gradient is there; blocks.
   *
   * @throws GroupChangedException when it never will be, because the worker ends: let go of the
   *     round
   */
  void await();

  /**
   * Has every element told once it is final: at once, on the calling thread, what is final already,
   * and the rest as it comes, on the thread that computes the gradient. One run is told at a time,
   * and all of them before {@link #await} returns.
   *
   * @param follower must return soon, because nothing is computed meanwhile; what it throws, its
   *     worker fails with
   */
  void follow(Follower follower);

  /** Hears which elements are final. */
  @FunctionalInterface
  interface Follower {

    /**
     * These elements are final.
     *
     * @param first element of the exchange vector
     * @param end element behind the last of them
     */
    void ready(int first, int end);
  }
}
