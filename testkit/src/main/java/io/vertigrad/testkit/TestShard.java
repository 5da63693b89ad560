package io.vertigrad.testkit;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardCounters;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A parameter server's shard as it runs in production, without an event bus and with a clock that
 * the test advances. {@link TestJob#shard()} creates one.
 *
 * <p>Answers are completed on the calling thread. A future that is not complete when {@link
 * #handle} returns belongs to an update that waits; a later call completes it.
 */
public final class TestShard {

  private final Shard shard;

  TestShard(Shard shard) {
    this.shard = shard;
  }

  /**
   * Passes a frame to the shard as if it had arrived over the bus.
   *
   * @param frame a {@code GradientPartition} or a {@code PullRequest}
   * @return the answer: a {@code ParameterPartition}, which stays valid, or a {@code Refusal}; it
   *     never fails
   */
  public Future<Frame> handle(Frame frame) {
    return shard.handle(frame).map(TestShard::keep);
  }

  private static Frame keep(Frame answer) {
    if (answer instanceof ParameterPartition lent) {
      ParameterPartition kept = lent.retain();
      SharedTensor.giveBack(lent.parameters());
      return kept;
    }
    return answer;
  }

  /**
   * Proposes a membership to the shard like the coordinator.
   *
   * @param next the membership, of a higher epoch than the present one
   * @return empty if the shard accepted it, otherwise the shard's version, which is too high for
   *     newcomers
   */
  public OptionalLong propose(Membership next) {
    return shard.propose(next).reached();
  }

  /**
   * Sets the membership; an older epoch than the present one has no effect.
   *
   * @param now the current members
   */
  public void membershipChanged(Membership now) {
    shard.membershipChanged(now);
  }

  /**
   * Delays updates beyond a version that is being tested.
   *
   * @param version the last version that updates may reach, until the next call
   */
  public void testAt(long version) {
    shard.testAt(version);
  }

  /**
   * Pauses the job, in which no worker then starts a step, or lets it go on.
   *
   * @param paused true to pause
   */
  public void paused(boolean paused) {
    shard.paused(paused);
  }

  /**
   * Ends waits that took too long; a server calls this about ten times a second.
   *
   * @param nowNanos time of the job's clock
   */
  public void tick(long nowNanos) {
    shard.tick(nowNanos);
  }

  /**
   * Ends every wait with a refusal {@code UNAVAILABLE}; later frames are refused the same way.
   *
   * @param why the refusals' message
   */
  public void close(String why) {
    shard.close(why);
  }

  /**
   * Copies the state of another shard, like a server that restarts from a checkpoint.
   *
   * @param before a shard of the same job, layout and optimizer
   * @throws IllegalArgumentException naming the difference
   */
  public void restoreFrom(TestShard before) {
    shard.restore(before.shard.snapshot());
  }

  /**
   * Returns the version that every partition has reached.
   *
   * @return the least of the partitions' versions, from 0
   */
  public long version() {
    return shard.version();
  }

  /**
   * Returns the workers that the first partition with a waiting worker waits for.
   *
   * @return the silent workers and the step they are missing from; empty if no worker waits
   */
  public Optional<StragglerReport> heldUp() {
    return shard.heldUp();
  }

  /**
   * Returns why this shard applies nothing any more: a rule has thrown.
   *
   * @return the strategy, the partition, and what was thrown; empty while no rule has
   */
  public Optional<String> failure() {
    return Optional.ofNullable(shard.failure().result()).map(RuntimeException::getMessage);
  }

  /**
   * Returns the number of updates by outcome.
   *
   * @return the counts since this shard was created
   */
  public Counters counters() {
    ShardCounters found = shard.counters();
    return new Counters(
        found.applied(), found.late(), found.duplicate(), found.tooStale(), found.refused());
  }

  /**
   * Returns the internal class, for Vertigrad's own tests. It is not part of the API and may change
   * with every version.
   *
   * @return the shard behind this one
   */
  public Shard internal() {
    return shard;
  }

  /**
   * The number of updates by outcome.
   *
   * @param applied updates in the parameters
   * @param late updates of a round that had ended without them
   * @param duplicate updates that were answered again
   * @param tooStale updates older than the strategy's bound
   * @param refused updates that were rejected for good
   */
  public record Counters(long applied, long late, long duplicate, long tooStale, long refused) {}
}
