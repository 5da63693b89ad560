package io.vertigrad.strategy;

import java.util.Optional;

/**
 * A rule by which workers combine their models or gradients without a server. It is a plain object
 * on the thread of the strategy verticle beside its worker, where it may wait for other workers.
 *
 * <p>A step is {@link #begin}, the gradient at {@link Replica#parameters()}, {@link #complete}.
 * Each method may throw {@link GroupChangedException}; the round then must have no effect, and
 * {@link #open} is called next.
 */
public interface PeerStrategy {

  /**
   * Agrees with a new group on a common state, and sends parameters to the workers that need them.
   * Afterwards {@link Replica#updates()} is the same for all workers that move in rounds.
   *
   * @param group as adopted from {@link Peers#adopt()}
   * @param fresh true while this worker's parameters are the initial ones
   */
  void open(PeerGroup group, boolean fresh);

  /**
   * Returns an array that the worker may write its gradients into, for a rule that would otherwise
   * copy them there. It is called once, before {@link #open}.
   *
   * @return an array at least as long as the replica, always the same; empty by default, and the
   *     worker then uses its own
   */
  default Optional<float[]> gradientArray() {
    return Optional.empty();
  }

  /**
   * Starts the part of the exchange that does not need the gradient. Called as soon as the worker
   * has the parameters. If the job is paused or ends at this point, the gradient arrives late or
   * never.
   */
  void begin();

  /**
   * Returns whether {@link #begin} calls {@link Replica#parameters()}. Parameters on a device are
   * then copied to Java before, because the worker computes on the device while {@link #begin}
   * runs. Called before each {@link #begin} of such a worker.
   *
   * @return true by default
   */
  default boolean beginsWithParameters() {
    return true;
  }

  /**
   * Takes the gradient and stores the next parameters in the replica.
   *
   * @param gradient at {@link Replica#parameters()}; its values may be overwritten
   */
  void complete(LocalGradient gradient);

  /**
   * Takes a gradient that the worker is still computing, combines its final elements early, and
   * stores the next parameters in the replica. An override calls {@link GradientProgress#await()}
   * before it changes the replica. The default waits for the whole gradient first.
   *
   * @param gradient its values are final as far as {@code progress} reports; they may be
   *     overwritten once all are final
   * @param progress reports final elements
   */
  default void complete(LocalGradient gradient, GradientProgress progress) {
    progress.await();
    complete(gradient);
  }

  /**
   * Returns the state that this rule carries from one step to the next besides the replica and its
   * optimizers' state, such as the residual of compression. Checkpoints store it. Called between
   * two steps.
   *
   * @return its values, always the same number; none by default
   */
  default float[] memory() {
    return new float[0];
  }

  /**
   * Restores the state that {@link #memory()} returned at the version that the replica goes back
   * to. Called before {@link #open}.
   *
   * @param memory its values; empty for the state of a new rule
   */
  default void restore(float[] memory) {}

  /**
   * Called from time to time while this worker has no step to take, so that it can answer others.
   */
  default void idle() {}

  /**
   * Returns the accumulated cost of exchanges.
   *
   * @return the sum over all exchanges
   */
  ExchangeTiming timing();

  /**
   * Returns the spectral gap of this group: how fast its workers approach each other. It is called
   * once per group.
   *
   * @return 0 to 1, where 1 means that they always agree; NaN if it would take too long to compute
   */
  double spectralGap();
}
