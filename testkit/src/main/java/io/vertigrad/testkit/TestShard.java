package io.vertigrad.testkit;

import io.vertigrad.codecs.Frame;
import io.vertigrad.internal.server.Shard;
import io.vertigrad.internal.server.ShardCounters;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A parameter server's shard, the one that runs in production, without a bus and under a clock that
 * the test moves. {@link TestJob#shard()} makes one.
 *
 * <p>Answers come on the calling thread: a future that is not complete when {@link #handle} returns
 * belongs to an update that waits, and a later call completes it.
 */
public final class TestShard {

  private final Shard shard;

  TestShard(Shard shard) {
    this.shard = shard;
  }

  /**
   * Hands a frame to the shard, as if it had arrived over the bus.
   *
   * @param frame a {@code GradientPartition} or a {@code PullRequest}
   * @return the answer: a {@code ParameterPartition} or a {@code Refusal}; it never fails
   */
  public Future<Frame> handle(Frame frame) {
    return shard.handle(frame);
  }

  /**
   * Takes a membership that the coordinator proposes, if this shard can.
   *
   * @param next the membership, of a higher epoch than the present one
   * @return empty if it was taken, else the shard's version, which is too high for newcomers
   */
  public OptionalLong propose(Membership next) {
    return shard.propose(next).reached();
  }

  /**
   * Takes a membership; an older epoch than the present one changes nothing.
   *
   * @param now who takes part from now on
   */
  public void membershipChanged(Membership now) {
    shard.membershipChanged(now);
  }

  /**
   * Holds updates back that would pass a version, which is tested meanwhile.
   *
   * @param version the last version that updates may reach, until the next call
   */
  public void testAt(long version) {
    shard.testAt(version);
  }

  /**
   * Ends waits that took too long; a server calls this about ten times a second.
   *
   * @param nowNanos what the job's clock says
   */
  public void tick(long nowNanos) {
    shard.tick(nowNanos);
  }

  /**
   * Ends every wait with a refusal {@code UNAVAILABLE}; later frames are answered so, too.
   *
   * @param why the refusals' message
   */
  public void close(String why) {
    shard.close(why);
  }

  /**
   * Goes back to what another shard has reached, as a server that restarts from a checkpoint.
   *
   * @param before a shard of the same job, layout and optimizer
   * @throws IllegalArgumentException naming what differs
   */
  public void restoreFrom(TestShard before) {
    shard.restore(before.shard.snapshot());
  }

  /**
   * Says which version every partition has reached.
   *
   * @return the least of the partitions' versions, from 0
   */
  public long version() {
    return shard.version();
  }

  /**
   * Says whom the first partition waits for that has anybody waiting.
   *
   * @return the silent workers and the step they are missing from; empty if nobody waits
   */
  public Optional<StragglerReport> heldUp() {
    return shard.heldUp();
  }

  /**
   * Counts updates by what became of them.
   *
   * @return the counts since this shard was made
   */
  public Counters counters() {
    ShardCounters found = shard.counters();
    return new Counters(
        found.applied(), found.late(), found.duplicate(), found.tooStale(), found.refused());
  }

  /**
   * Gives the class behind, for Vertigrad's own tests. It is not part of the API: what it can do
   * may change with every version.
   *
   * @return the shard that this one hands everything to
   */
  public Shard internal() {
    return shard;
  }

  /**
   * Updates by what became of them.
   *
   * @param applied updates that are in the parameters
   * @param late updates of a round that had ended without them
   * @param duplicate updates that were answered again
   * @param tooStale updates older than the strategy's bound
   * @param refused updates that were turned away for good
   */
  public record Counters(long applied, long late, long duplicate, long tooStale, long refused) {}
}
