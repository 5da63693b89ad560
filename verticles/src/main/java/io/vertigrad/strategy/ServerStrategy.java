package io.vertigrad.strategy;

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
   * @param update the gradient; its memory is lent where the rule {@linkplain #borrows borrows}
   * @return completes with a {@link io.vertigrad.codecs.ParameterPartition} or a {@link
   *     io.vertigrad.codecs.Refusal}; fails only on a defect
   */
  Future<Frame> exchange(GradientPartition update);

  /**
   * Tells whether it is done with an update's gradient as soon as {@link #exchange} returns, or
   * {@linkplain GradientPartition#retain retains} it. Then it gets gradients whose memory is
   * borrowed until then, which saves a copy.
   *
   * @return true when it is
   */
  default boolean borrows() {
    return false;
  }

  /**
   * Tells whether an update is in the parameters as soon as {@link #exchange} returns, even if its
   * answer waits. Otherwise a refusal means that it is not, and the same update may come again.
   *
   * @return true when it is
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
   * Tells who takes part from now on; a barrier must never wait for someone who left.
   *
   * @param now the newest membership
   */
  void membershipChanged(Membership now);

  /**
   * Is called about ten times a second: whatever waits longer than its limit ends here, and names
   * its culprit.
   *
   * @param nowNanos monotonic time in nanoseconds
   */
  void tick(long nowNanos);

  /**
   * Returns whom the workers wait for that have no answer yet.
   *
   * @return empty when none of them waits
   */
  default Optional<StragglerReport> heldUp() {
    return Optional.empty();
  }

  /**
   * Ends every wait with {@link io.vertigrad.codecs.Refusal.Reason#UNAVAILABLE}.
   *
   * @param why for people
   */
  void close(String why);
}
