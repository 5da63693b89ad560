package io.vertigrad.strategy;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertx.core.Future;
import java.util.Optional;

/**
 * A rule for combining workers' updates of one partition.
 *
 * <p>Called from one thread at a time, behind a filter for stale and repeated updates: it receives
 * each update once and at most one unanswered update per worker. The filter rejects stale
 * incarnations, duplicates, wrong layouts, non-finite gradients, versions from the future, and
 * everything after the last version.
 *
 * <p>Completing an answer may call {@link #exchange} again before it returns: update the rule's
 * state first.
 */
public interface ServerStrategy {

  /**
   * Takes one worker's gradient and answers with the worker's next parameters, immediately or when
   * the rule allows it.
   *
   * @param update finite, of the current layout, and not received before
   * @return completes with a {@link io.vertigrad.codecs.ParameterPartition} or a {@link
   *     io.vertigrad.codecs.Refusal}; fails only on a defect
   */
  Future<Frame> exchange(GradientPartition update);

  /**
   * Returns true when the rule needs an update's gradient no longer than {@link #exchange} runs, or
   * {@linkplain GradientPartition#retain retains} it. It then receives gradients in borrowed
   * memory, which saves a copy.
   *
   * @return false by default
   */
  default boolean borrows() {
    return false;
  }

  /**
   * Returns true when an update is in the parameters as soon as {@link #exchange} returns, even if
   * its answer waits. Otherwise a refusal means that it is not, and the same update may be sent
   * again.
   *
   * @return true by default
   */
  default boolean appliesAtOnce() {
    return false;
  }

  /**
   * Called when the partition moves to a later version without an update: after a server's crash
   * workers have seen later versions than the checkpoint holds. Rounds before that version are
   * over.
   */
  default void versionSkipped() {}

  /**
   * Called when a worker has repeated an update that was processed before and is answered with the
   * parameters. This partition receives nothing else from that worker until other partitions have
   * answered the same step. A rule that waits for several workers, but not for all, must not wait
   * only for workers like this: they may be waiting for each other.
   *
   * @param id of the update
   */
  default void repeated(ExchangeId id) {}

  /**
   * Called when members join or leave; a barrier must never wait for a worker that left.
   *
   * @param now the members, of a higher epoch than before
   */
  void membershipChanged(Membership now);

  /**
   * Called when the job is paused or brought to rest, and when it goes on, perhaps again with the
   * same value. While it is paused no worker starts a step, so a rule that keeps an answer until
   * another worker takes further steps must send it at once. Waits for gradients of a round end by
   * themselves: workers finish the rounds that were started.
   *
   * @param paused true while no worker starts a step
   */
  default void paused(boolean paused) {}

  /**
   * Called about ten times a second with a monotonic clock. Waits that exceed their limit must end
   * here with an error that names the culprit.
   *
   * @param nowNanos the clock of {@link ServerStrategyContext}
   */
  void tick(long nowNanos);

  /**
   * Returns the workers that the waiting workers wait for; empty when no worker waits.
   *
   * @return the first wait
   */
  default Optional<StragglerReport> heldUp() {
    return Optional.empty();
  }

  /**
   * Ends every wait with {@link io.vertigrad.codecs.Refusal.Reason#UNAVAILABLE}.
   *
   * @param why reason for the worker, in one line
   */
  void close(String why);
}
