package io.vertigrad.strategy;

import java.util.Optional;

/**
 * A rule by which workers combine without a server; a plain object on the thread of the strategy
 * verticle beside its worker, where it may wait for other workers.
 *
 * <p>A step is {@link #begin}, the gradient at {@link Replica#parameters()}, {@link #complete}.
 * Each of them may throw {@link GroupChangedException}; the round then leaves no trace, and {@link
 * #open} is next.
 */
public interface PeerStrategy {

  /**
   * Agrees with a new group on where to go on, and gives those who need it their parameters; {@link
   * Replica#updates()} then is the same for all who move in rounds.
   *
   * @param group as adopted from {@link Peers#adopt()}
   * @param fresh true while this worker's parameters are the initial ones
   */
  void open(PeerGroup group, boolean fresh);

  /**
   * Returns an array that the worker may put its gradients into, for a rule that would otherwise
   * copy them there. It is asked once, before {@link #open}.
   *
   * @return at least as long as the replica, always the same; none by default, where the worker has
   *     an array of its own
   */
  default Optional<float[]> gradientArray() {
    return Optional.empty();
  }

  /**
   * Starts whatever can go on while the gradient is computed. Called as soon as the worker has the
   * parameters; where the job is paused or ends there, its gradient comes late or never.
   */
  void begin();

  /**
   * Takes the gradient and leaves the next parameters in the replica.
   *
   * @param gradient at {@link Replica#parameters()}; its values may be overwritten
   */
  void complete(LocalGradient gradient);

  /**
   * Likewise, of a gradient that the worker still computes: what can be combined early is. By
   * default it is waited for.
   *
   * @param gradient its values are final as far as {@code progress} tells; they may be overwritten
   *     once all are
   * @param progress tells what is final
   */
  default void complete(LocalGradient gradient, GradientProgress progress) {
    progress.await();
    complete(gradient);
  }

  /**
   * Returns what this rule carries from one step to the next besides the replica and its
   * optimizers' state, such as what compression has left out. Checkpoints keep it. Called between
   * two steps.
   *
   * @return its values, always as many; none by default
   */
  default float[] memory() {
    return new float[0];
  }

  /**
   * Takes over what {@link #memory()} returned when the version was reached that the replica goes
   * back to. Called before {@link #open}.
   *
   * @param memory its values; none for those of a rule that has not begun
   */
  default void restore(float[] memory) {}

  /** Called now and then when this worker has no step to take, for those who still have. */
  default void idle() {}

  /**
   * Returns what the exchange has cost so far.
   *
   * @return the sum over all exchanges
   */
  ExchangeTiming timing();

  /**
   * Returns how fast this group's workers approach each other. It is asked once per group.
   *
   * @return 0 to 1, where 1 means that they always agree; NaN where it would take too long to find
   *     out
   */
  double spectralGap();
}
