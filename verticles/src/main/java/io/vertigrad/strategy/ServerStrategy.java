package io.vertigrad.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertx.core.Future;
import java.util.Optional;

/**
 * A rule for combining workers' updates of one partition.
 *
 * <p>Called from one thread at a time, behind a filter for stale and repeated updates: it sees each
 * update once and at most one unanswered update per worker. Stale incarnations, duplicates, wrong
 * layouts, non-finite gradients, versions from the future and whatever comes after the last version
 * are turned away before they get here.
 *
 * <p>Completing an answer may call straight back into {@link #exchange}: finish with the state
 * first.
 */
public interface ServerStrategy {

  /**
   * Takes one worker's gradient and answers with its next parameters, at once or when the rule
   * says.
   *
   * @param update finite, of the current layout, and not seen before
   * @return completes with a {@link io.vertigrad.codecs.ParameterPartition} or a {@link
   *     io.vertigrad.codecs.Refusal}; fails only on a defect
   */
  Future<Frame> exchange(GradientPartition update);

  /**
   * True when it is done with an update's gradient as soon as {@link #exchange} returns, or
   * {@linkplain GradientPartition#retain retains} it: then it gets gradients whose memory is only
   * borrowed until then, which saves a copy.
   *
   * @return false unless a strategy says so
   */
  default boolean borrows() {
    return false;
  }

  /**
   * True when an update is in the parameters as soon as {@link #exchange} returns, even if its
   * answer waits. Otherwise a refusal means that it is not, and the same update may come again.
   *
   * @return true unless a strategy says otherwise
   */
  default boolean appliesAtOnce() {
    return false;
  }

  /**
   * Tells that the partition moved to a later version without an update: after a server's crash
   * workers have seen more than the checkpoint holds. Rounds up to there are over.
   */
  default void versionSkipped() {}

  /**
   * Tells that a worker has sent an update again that was dealt with before, and is answered with
   * the parameters: this partition gets nothing else of that worker until other partitions have
   * answered the same step. A rule that waits for several workers, but not for all, must not wait
   * for this one and others like it alone: they may be waiting for each other.
   *
   * @param id of the update
   */
  default void repeated(ExchangeId id) {}

  /**
   * Tells who takes part from now on; a barrier must never wait for someone who left.
   *
   * @param now the members, of a higher epoch than before
   */
  void membershipChanged(Membership now);

  /**
   * Called about ten times a second with a monotonic clock: whatever waits longer than its limit
   * ends here, and names its culprit.
   *
   * @param nowNanos the clock of {@link ServerStrategyContext}
   */
  void tick(long nowNanos);

  /**
   * Whom the workers wait for that have no answer yet; empty when none of them waits.
   *
   * @return the first that is held up
   */
  default Optional<StragglerReport> heldUp() {
    return Optional.empty();
  }

  /**
   * Ends every wait with {@link io.vertigrad.codecs.Refusal.Reason#UNAVAILABLE}.
   *
   * @param why for the worker, in one line
   */
  void close(String why);
}
