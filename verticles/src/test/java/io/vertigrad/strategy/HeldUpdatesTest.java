package io.vertigrad.strategy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests updates that a shard delays because a version must be tested before they are applied. */
final class HeldUpdatesTest {

  private static final float AFTER_ONE = -TestJob.LEARNING_RATE;

  private TestJob job;
  private TestShard shard;

  @ParameterizedTest
  @ValueSource(strings = {"async", "ssp"})
  void shouldApplyNothingAfterAVersionThatIsDueForATest(String strategy) {
    begin(strategy);
    shard.testAt(1);
    Future<Frame> first = shard.handle(update(0, 0, 0));

    Future<Frame> second = shard.handle(update(1, 0, 0));
    Future<Frame> again = shard.handle(update(1, 0, 0));
    Future<Frame> repeated = shard.handle(update(0, 0, 0));

    assertEquals(Outcome.APPLIED, answer(first).outcome());
    assertEquals(Outcome.DUPLICATE, answer(repeated).outcome(), "what was applied is answered");
    assertFalse(second.isComplete() || again.isComplete());
    assertEquals(1, shard.version());
    assertEquals(AFTER_ONE, job.parameters(shard, 0)[0], 1e-6);

    shard.testAt(2);

    assertEquals(2, shard.version());
    assertEquals(1, answer(second).staleness());
    assertEquals(answer(second), answer(again));
    assertEquals(2 * AFTER_ONE, job.parameters(shard, 0)[0], 1e-6);
  }

  @Test
  void shouldReleaseUpdatesInOrderUpToTheNextTest() {
    begin("async");
    shard.testAt(0);
    Future<Frame> first = shard.handle(update(1, 0, 0));
    Future<Frame> second = shard.handle(update(0, 0, 0));

    shard.testAt(1);
    assertTrue(first.isComplete());
    assertFalse(second.isComplete());

    shard.testAt(EvaluationPlan.NONE);
    assertEquals(2, answer(second).version());
  }

  @Test
  void shouldDiscardHeldUpdatesOfAWorkerThatLeft() {
    begin("async");
    shard.testAt(0);
    Future<Frame> gone = shard.handle(update(1, 0, 0));

    shard.membershipChanged(TestJob.of(2, 0));
    shard.testAt(EvaluationPlan.NONE);

    assertEquals(Reason.STALE_INCARNATION, refusal(gone).reason());
    assertEquals(0, shard.version());
    assertArrayEquals(job.initial(), job.parameters(shard, 0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"async", "ssp", "sync"})
  void shouldApplyTheReplacementsUpdateWhenTheHeldUpdateWasRefused(String strategy) {
    job = new TestJob("{\"name\": \"%s\"}".formatted(strategy), 4, 0, 9, 2).withRanks(2);
    shard = job.shard();
    shard.membershipChanged(TestJob.workers(2));
    shard.testAt(0);
    Future<Frame> gone = shard.handle(update(1, 0, 0));
    Member first = new Member(0, 0, 0);
    shard.membershipChanged(new Membership(2, List.of(first, new Member(1, 1, 0)), List.of()));
    ExchangeId id = new ExchangeId(TestJob.JOB, 1, 1, 2, 0, 0);

    Future<Frame> repeated = shard.handle(job.gradient(id, 0, 1, 1, 1, 1, 1));
    Future<Frame> other = shard.handle(update(0, 0, 0));
    shard.testAt(EvaluationPlan.NONE);

    assertEquals(Reason.STALE_INCARNATION, refusal(gone).reason());
    assertEquals(Outcome.APPLIED, answer(repeated).outcome());
    assertEquals(Outcome.APPLIED, answer(other).outcome());
  }

  @Test
  void shouldLeaveHeldUpdatesOutOfACheckpointAndRequestThemAgain() {
    begin("async");
    shard.testAt(1);
    shard.handle(update(0, 0, 0));
    Future<Frame> held = shard.handle(update(1, 0, 0));

    int dealtWith = shard.internal().snapshot().states().get(0).head().ledger().entries().size();
    shard.close("this server is stopping");

    assertEquals(1, dealtWith, "of worker 0 alone");
    assertEquals(Reason.UNAVAILABLE, refusal(held).reason());
  }

  @Test
  void shouldAnswerFinishedWhenTheLastVersionWasReachedMeanwhile() {
    job = new TestJob("{\"name\": \"async\"}", 4, 0, 1, 2);
    shard = job.shard();
    shard.membershipChanged(TestJob.workers(3));
    shard.testAt(1);
    shard.handle(update(0, 0, 0));
    Future<Frame> second = shard.handle(update(1, 0, 0));
    Future<Frame> third = shard.handle(update(2, 0, 0));

    shard.testAt(EvaluationPlan.NONE);

    assertEquals(Outcome.APPLIED, answer(second).outcome());
    assertEquals(Outcome.FINISHED, answer(third).outcome());
    assertEquals(2, shard.version());
  }

  private void begin(String strategy) {
    job = new TestJob("{\"name\": \"%s\"}".formatted(strategy), 4, 0, 9, 2);
    shard = job.shard();
    shard.membershipChanged(TestJob.workers(2));
  }

  private GradientPartition update(int worker, long step, long version) {
    return job.gradient(worker, step, 0, version, 1, 1, 1, 1);
  }

  private static ParameterPartition answer(Future<Frame> future) {
    assertTrue(future.isComplete());
    return assertInstanceOf(ParameterPartition.class, future.result());
  }

  private static Refusal refusal(Future<Frame> future) {
    assertTrue(future.isComplete());
    return assertInstanceOf(Refusal.class, future.result());
  }
}
