package io.vertigrad.verticles.strategy;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertx.core.Future;

/**
 * A rule for combining workers' updates of one partition.
 *
 * <p>Called from one thread at a time. It sees each update once: stale incarnations, duplicates,
 * wrong layouts and non-finite gradients are turned away before they get here.
 */
public interface ExchangeStrategy {

  /**
   * Takes one worker's gradient and answers with its next parameters, at once or when the rule says.
   *
   * @return completes with a {@link io.vertigrad.codecs.ParameterPartition} or a {@link
   *     io.vertigrad.codecs.Refusal}; fails only on a defect
   */
  Future<Frame> exchange(GradientPartition update);

  /** Tells who takes part from now on; a barrier must never wait for someone who left. */
  void membershipChanged(Membership now);

  /**
   * Called about ten times a second with a monotonic clock: whatever waits longer than its limit
   * ends here, and names its culprit.
   */
  void tick(long nowNanos);

  /** Ends every wait with {@link io.vertigrad.codecs.Refusal.Reason#UNAVAILABLE}. */
  void close(String why);
}
