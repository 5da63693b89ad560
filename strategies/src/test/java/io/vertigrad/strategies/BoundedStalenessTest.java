package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.util.List;
import org.junit.jupiter.api.Test;

class BoundedStalenessTest extends StrategyContract {

  private static final String TWO_AHEAD = "{\"name\": \"ssp\", \"staleness\": 2}";

  @Override
  protected String settings() {
    return "{\"name\": \"ssp\"}";
  }

  @Test
  void shouldHoldTheAnswerWhenAWorkerIsMoreThanTheBoundAhead() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 2);
    TestShard shard = started(job, 2);

    assertTrue(step(job, shard, 0, 0).succeeded());
    assertTrue(step(job, shard, 0, 1).succeeded());
    Future<Frame> third = step(job, shard, 0, 2);

    assertFalse(third.isComplete());
    assertEquals(3, shard.version(), "applied although the answer waits");
  }

  @Test
  void shouldDelayARepeatWhenTheFirstStillWaits() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 2);
    TestShard shard = started(job, 2);
    step(job, shard, 0, 0);
    step(job, shard, 0, 1);
    step(job, shard, 0, 2);

    Future<Frame> again = step(job, shard, 0, 2);

    assertFalse(again.isComplete());
    assertEquals(3, shard.version());
  }

  @Test
  void shouldReleaseWaitingWorkersWhenTheSlowestSteps() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 2);
    TestShard shard = started(job, 2);
    step(job, shard, 0, 0);
    step(job, shard, 0, 1);
    Future<Frame> third = step(job, shard, 0, 2);

    step(job, shard, 1, 0);

    ParameterPartition answer = assertInstanceOf(ParameterPartition.class, third.result());
    assertEquals(4, answer.version(), "the newest parameters, with the slowest's update");
  }

  @Test
  void shouldStartANewcomerAtTheSlowestClock() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 2);
    TestShard shard = started(job, 2);
    stepBoth(job, shard, 3);

    shard.membershipChanged(
        new Membership(
            2, List.of(new Member(0, 0, 0), new Member(1, 0, 0), new Member(2, 0, 0)), List.of()));

    assertTrue(step(job, shard, 0, 3).succeeded());
    assertTrue(step(job, shard, 0, 4).succeeded());
    assertFalse(step(job, shard, 0, 5).isComplete());
    assertTrue(step(job, shard, 2, 0).succeeded());
  }

  @Test
  void shouldNameTheSlowestWhenTheDeadlinePasses() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 2);
    TestShard shard = started(job, 2);
    step(job, shard, 0, 0);
    step(job, shard, 0, 1);
    Future<Frame> third = step(job, shard, 0, 2);

    job.clock.advanceMillis(Barrier.DEADLINE_MILLIS);
    shard.tick(job.clock.getAsLong());

    String message = assertInstanceOf(Refusal.class, third.result()).message();
    assertTrue(message.contains("worker 1 (incarnation 0) at step 0"), message);
  }

  @Test
  void shouldReleaseAllWorkersWhenTheJobReachesItsLastVersion() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 2, 2);
    TestShard shard = started(job, 2);
    step(job, shard, 0, 0);
    step(job, shard, 0, 1);
    Future<Frame> third = step(job, shard, 0, 2);
    assertFalse(third.isComplete());

    Future<Frame> last = step(job, shard, 1, 0);

    assertTrue(third.succeeded());
    assertTrue(last.succeeded());
    assertEquals(4, shard.version());
  }

  @Test
  void shouldLetNobodyWaitWhileTheJobIsPaused() {
    TestJob job = new TestJob(TWO_AHEAD, 4, 0, 9, 3);
    TestShard shard = started(job, 3);
    stepBoth(job, shard, 2);
    Future<Frame> before = step(job, shard, 0, 2);
    assertFalse(before.isComplete());

    shard.paused(true);
    Future<Frame> meanwhile = step(job, shard, 1, 2);
    shard.paused(false);

    assertTrue(before.succeeded());
    assertTrue(meanwhile.succeeded(), "its gradient was on its way");
    assertFalse(step(job, shard, 0, 3).isComplete(), "the bound counts again");
  }

  private static void stepBoth(TestJob job, TestShard shard, int steps) {
    for (int step = 0; step < steps; step++) {
      step(job, shard, 0, step);
      step(job, shard, 1, step);
    }
  }

  private static Future<Frame> step(TestJob job, TestShard shard, int worker, long step) {
    return shard.handle(job.gradient(worker, step, 0, shard.version(), 1, 1, 1, 1));
  }
}
