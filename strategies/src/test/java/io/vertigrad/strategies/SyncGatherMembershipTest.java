package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests which workers a round waits for when workers join, leave, or are not all needed. */
class SyncGatherMembershipTest {

  private static final String MEAN = "{\"name\": \"sync\", \"reduction\": \"mean\"}";
  private static final String SUM = "{\"name\": \"sync\", \"reduction\": \"sum\"}";

  @Test
  void shouldAnswerLateWhenARoundWasClosedByAQuorum() {
    TestJob job = new TestJob("{\"name\": \"sync\", \"quorum\": 2}", 4, 0, 5, 3);
    TestShard shard = started(job, 3);
    shard.handle(job.gradient(2, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> second = shard.handle(job.gradient(0, 0, 0, 0, 3, 3, 3, 3));
    float[] closed = TestJob.values((ParameterPartition) second.result());

    ParameterPartition late = parameters(shard, job.gradient(1, 0, 0, 0, 9, 9, 9, 9));

    assertEquals(Outcome.LATE, late.outcome());
    assertEquals(1, late.version());
    assertArrayEquals(closed, TestJob.values(late));
    assertArrayEquals(
        new float[] {-0.2f, 0.125f - 0.2f, 0.25f - 0.2f, 0.375f - 0.2f}, closed, 1e-6f);
    assertEquals(1, shard.counters().late());
  }

  @Test
  void shouldCloseWithTheRemainingWorkersWhenFewerThanTheQuorumTakePart() {
    TestJob job = new TestJob("{\"name\": \"sync\", \"quorum\": 3}", 4, 0, 5, 3);
    TestShard shard = started(job, 3);
    Future<Frame> waiting = shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));

    shard.membershipChanged(TestJob.of(2, 0));

    assertTrue(waiting.succeeded());
    assertEquals(1, shard.version());
  }

  @Test
  void shouldKeepSummedGradientsAndDropHeldOnesWhenTheirWorkersLeave() {
    TestJob job = new TestJob(SUM, 4, 0, 5, 4);
    TestShard shard = started(job, 4);
    Future<Frame> summed = shard.handle(job.gradient(0, 0, 0, 0, 1, 0, 0, 0));
    Future<Frame> held = shard.handle(job.gradient(2, 0, 0, 0, 0, 1, 0, 0));
    shard.handle(job.gradient(3, 0, 0, 0, 0, 0, 1, 0));

    shard.membershipChanged(TestJob.of(2, 1, 3));
    shard.handle(job.gradient(1, 0, 0, 0, 0, 0, 0, 1));

    assertInstanceOf(Refusal.class, summed.result());
    assertInstanceOf(Refusal.class, held.result());
    assertArrayEquals(
        new float[] {-0.1f, 0.125f, 0.25f - 0.1f, 0.375f - 0.1f}, job.parameters(shard, 0), 1e-6f);
  }

  @Test
  void shouldNotLookAtAllWorkersForEachGradient() {
    long few = bytesOfAGradient(100);
    long many = bytesOfAGradient(1_600);

    assertTrue(
        many < 2 * few, "bytes of a gradient: %d, of 16 times the workers %d".formatted(few, many));
  }

  /** Returns how many bytes a shard allocates for a gradient that does not end its round. */
  private static long bytesOfAGradient(int workers) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    TestJob job = new TestJob(MEAN, 4, 0, 5, workers);
    TestShard shard = started(job, workers);
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    List<GradientPartition> gradients =
        IntStream.range(1, workers - 1)
            .mapToObj(rank -> job.gradient(rank, 0, 0, 0, 1, 1, 1, 1))
            .toList();
    long before = threads.getCurrentThreadAllocatedBytes();
    gradients.forEach(shard::handle);
    return (threads.getCurrentThreadAllocatedBytes() - before) / gradients.size();
  }

  @Test
  void shouldWaitForANewcomerOnlyFromItsFirstRound() {
    TestJob job = new TestJob(MEAN, 4, 0, 12, 2);
    TestShard shard = started(job, 1);
    Membership next =
        new Membership(2, List.of(new Member(0, 0, 0), new Member(1, 0, 1)), List.of());

    OptionalLong refusal = shard.propose(next);
    Future<Frame> alone = shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> together = shard.handle(job.gradient(0, 1, 0, 1, 1, 1, 1, 1));

    assertTrue(refusal.isEmpty());
    assertTrue(alone.succeeded());
    assertFalse(together.isComplete());
    shard.handle(job.gradient(1, 0, 0, 1, 1, 1, 1, 1));
    assertTrue(together.succeeded());
  }

  @Test
  void shouldRejectAProposalWhenTheNewcomersFirstRoundHasClosed() {
    TestJob job = new TestJob(MEAN, 4, 0, 12, 2);
    TestShard shard = started(job, 1);
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(0, 1, 0, 1, 1, 1, 1, 1));

    OptionalLong highest =
        shard.propose(
            new Membership(2, List.of(new Member(0, 0, 0), new Member(1, 0, 1)), List.of()));

    assertEquals(OptionalLong.of(2), highest);
    assertTrue(shard.handle(job.gradient(0, 2, 0, 2, 1, 1, 1, 1)).succeeded());
  }

  private static TestShard started(TestJob job, int workers) {
    TestShard shard = job.shard();
    shard.membershipChanged(TestJob.workers(workers));
    return shard;
  }

  private static ParameterPartition parameters(TestShard shard, GradientPartition update) {
    return assertInstanceOf(ParameterPartition.class, shard.handle(update).result());
  }
}
