package io.vertigrad.testkit;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.SharedTensor;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.ServerStrategy;
import io.vertx.core.Future;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Tests the behaviour that every strategy with parameter servers must have.
 *
 * <p>A strategy's test extends this class and returns the settings; the provider must be on the
 * test class path. The contract does not apply to strategies that do not equal plain SGD with one
 * worker.
 */
public abstract class StrategyContract extends LivenessContract {

  /** Creates the test; for subclasses. */
  protected StrategyContract() {}

  @Test
  void shouldEqualPlainSgdWhenThereIsOneWorker() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);
    float[] expected = {0, 0.125f, 0.25f, 0.375f};
    Random random = new Random(7);

    for (int step = 0; step < STEPS; step++) {
      float[] gradient = random(random);
      ParameterPartition answer = parameters(shard, job.gradient(0, step, 0, step, gradient));
      for (int i = 0; i < expected.length; i++) {
        expected[i] -= TestJob.LEARNING_RATE * gradient[i];
      }
      assertEquals(Outcome.APPLIED, answer.outcome());
      assertEquals(step + 1, answer.version());
      assertArrayEquals(expected, TestJob.values(answer), "exactly, at step " + step);
    }
  }

  @Test
  void shouldSubtractStatisticsAsTheyAreWhenThereIsOneWorker() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);

    ParameterPartition answer = parameters(shard, job.gradient(0, 0, 1, 0, 0.25f, -0.5f));

    assertArrayEquals(new float[] {0.5f - 0.25f, 0.625f + 0.5f}, TestJob.values(answer));
  }

  @Test
  void shouldRepeatTheAnswerWithoutChangeWhenAnUpdateIsRepeated() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);
    parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    GradientPartition second = job.gradient(0, 1, 0, 1, 2, 2, 2, 2);
    float[] after = TestJob.values(parameters(shard, second));

    ParameterPartition again = parameters(shard, second);
    ParameterPartition older = parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1));

    assertEquals(List.of(Outcome.DUPLICATE, Outcome.DUPLICATE), outcomes(again, older));
    assertArrayEquals(after, TestJob.values(again));
    assertArrayEquals(after, TestJob.values(older));
    assertEquals(2, shard.counters().duplicate());
  }

  @Test
  void shouldKeepTheParametersWhenAGradientIsNotFinite() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);
    if (job.takesNotFinite()) {
      parameters(shard, job.gradient(0, 0, 0, 0, 1, Float.NaN, 1, 1));
      assertArrayEquals(new float[] {0, 0.125f, 0.25f, 0.375f}, job.parameters(shard, 0));
      return;
    }

    Refusal refusal = refusal(shard, job.gradient(0, 0, 0, 0, 1, Float.NaN, 1, 1));

    assertEquals(Reason.NOT_FINITE, refusal.reason());
    assertArrayEquals(new float[] {0, 0.125f, 0.25f, 0.375f}, job.parameters(shard, 0));
    assertEquals(1, shard.counters().refused());
    assertEquals(
        Outcome.APPLIED, parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1)).outcome());
  }

  @Test
  void shouldKeepTheParametersWhenAGradientIsBeyondTheBound() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);

    Refusal refusal = refusal(shard, job.gradient(0, 0, 0, 0, 1, 1, -1e30f, 1));

    assertEquals(Reason.NOT_FINITE, refusal.reason());
    assertEquals(
        "partition 0: the gradient of worker 0, step 0 holds an element beyond 1.0E9"
            + " (exchange.maxMagnitude); not applied",
        refusal.message());
    assertArrayEquals(new float[] {0, 0.125f, 0.25f, 0.375f}, job.parameters(shard, 0));
    assertEquals(
        Outcome.APPLIED, parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1)).outcome());
  }

  @Test
  void shouldNotApplyWhenTheLastVersionWasReached() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);
    for (int step = 0; step < job.lastVersion(); step++) {
      parameters(shard, job.gradient(0, step, 0, step, 1, 1, 1, 1));
    }
    float[] last = job.parameters(shard, 0);

    ParameterPartition answer =
        parameters(shard, job.gradient(0, job.lastVersion(), 0, job.lastVersion(), 9, 9, 9, 9));

    assertEquals(Outcome.FINISHED, answer.outcome());
    assertEquals(job.lastVersion(), answer.version());
    assertArrayEquals(last, TestJob.values(answer));
  }

  @Test
  void shouldRefuseALaterVersionWhenAServerFellBack() {
    TestJob job = job(1);
    TestShard shard = started(job, 1);

    Refusal refusal = refusal(shard, job.gradient(0, 9, 0, 9, 1, 1, 1, 1));

    assertEquals(Reason.PROTOCOL, refusal.reason());
    assertTrue(refusal.message().contains("version 9"), refusal.message());
    assertArrayEquals(new float[] {0, 0.125f, 0.25f, 0.375f}, job.parameters(shard, 0));
  }

  @Test
  void shouldContinueTheRunWhenRestoredFromASnapshot() {
    TestJob job = job(1);
    TestShard first = started(job, 1);
    parameters(first, job.gradient(0, 0, 0, 0, 1, 2, 3, 4));
    TestShard second = job.shard(0, 1);

    second.restoreFrom(first);
    second.membershipChanged(TestJob.workers(1));
    ParameterPartition again = parameters(second, job.gradient(0, 0, 0, 0, 1, 2, 3, 4));

    assertEquals(Outcome.DUPLICATE, again.outcome());
    assertEquals(1, again.server());
    assertNotEquals(0, again.version());
    assertArrayEquals(job.parameters(first, 0), TestJob.values(again));
  }

  @Test
  void shouldApplyNothingAfterItsRuleHasThrownOnce() {
    requireNothingAfterFailure(3, 1);
  }

  @Test
  void shouldApplyNothingAfterItsRuleHasBegunToThrow() {
    requireNothingAfterFailure(3, Integer.MAX_VALUE);
  }

  @Test
  void shouldApplyNothingWhenItsRuleThrowsInItsFirstCall() {
    requireNothingAfterFailure(0, 1);
  }

  /** Lets the rule throw after its own work, so that an update is half done: applied, no answer. */
  private void requireNothingAfterFailure(int first, int times) {
    TestJob job = job(1).withRules(rule -> new ThrowingRule(rule, first, times));
    TestShard shard = started(job, 1);
    for (int step = 0; step < first; step++) {
      parameters(shard, job.gradient(0, step, 0, step, 1, 1, 1, 1));
    }
    GradientPartition fatal = job.gradient(0, first, 0, first, 1, 1, 1, 1);
    Refusal refusal = refusal(shard, fatal);
    long version = shard.internal().highestVersion();
    String failure = shard.failure().orElseThrow();

    shard.membershipChanged(TestJob.of(2, 0));
    shard.tick(job.clock.getAsLong());
    List<Frame> later =
        List.of(
            refusal(shard, fatal),
            refusal(shard, job.gradient(0, first + 1, 0, version, 1, 1, 1, 1)),
            refusal(shard, job.gradient(0, 0, 1, 0, 1, 1)),
            shard.handle(job.pull(0, first, 0, 0)).result());

    assertEquals(Reason.UNAVAILABLE, refusal.reason());
    assertTrue(failure.contains("partition 0, version " + version + ": "), failure);
    assertTrue(failure.contains("IllegalStateException: " + ThrowingRule.MESSAGE), failure);
    later.forEach(
        answer ->
            assertEquals(Reason.UNAVAILABLE, assertInstanceOf(Refusal.class, answer).reason()));
    assertEquals(version, shard.internal().highestVersion());
    assertEquals(first, shard.counters().applied());
    assertEquals(failure, shard.failure().orElseThrow(), "the first failure stays");
    assertThrows(RuntimeException.class, () -> job.shard(0, 1).restoreFrom(shard));
  }

  /**
   * Passes an update to the shard and expects parameters immediately.
   *
   * @param shard the shard
   * @param update a worker's gradient
   * @return the answer
   */
  protected static ParameterPartition parameters(TestShard shard, GradientPartition update) {
    Frame answer = shard.handle(update).result();
    return assertInstanceOf(ParameterPartition.class, answer, () -> String.valueOf(answer));
  }

  /**
   * Passes an update to the shard and expects a refusal immediately.
   *
   * @param shard the shard
   * @param update a worker's gradient
   * @return the answer
   */
  protected static Refusal refusal(TestShard shard, GradientPartition update) {
    return assertInstanceOf(Refusal.class, shard.handle(update).result());
  }

  private static float[] random(Random random) {
    float[] values = new float[4];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextFloat() - 0.5f;
    }
    return values;
  }

  private static List<Outcome> outcomes(ParameterPartition... answers) {
    return Arrays.stream(answers).map(ParameterPartition::outcome).toList();
  }

  /** A rule with a defect: it throws after a number of exchanges, then everywhere. */
  private static final class ThrowingRule implements ServerStrategy {

    static final String MESSAGE = "this rule is broken";

    private final ServerStrategy rule;
    private int good;
    private int bad;

    ThrowingRule(ServerStrategy rule, int good, int bad) {
      this.rule = rule;
      this.good = good;
      this.bad = bad;
    }

    @Override
    public Future<Frame> exchange(GradientPartition update) {
      Future<Frame> answer = rule.exchange(update);
      good--;
      try {
        fail();
      } catch (IllegalStateException thrown) {
        answer.onSuccess(lost -> SharedTensor.giveBack(((ParameterPartition) lost).parameters()));
        throw thrown;
      }
      return answer;
    }

    private void fail() {
      if (good < 0 && bad > 0) {
        bad--;
        throw new IllegalStateException(MESSAGE);
      }
    }

    @Override
    public boolean borrows() {
      return rule.borrows();
    }

    @Override
    public boolean appliesAtOnce() {
      return rule.appliesAtOnce();
    }

    @Override
    public void membershipChanged(Membership now) {
      fail();
      rule.membershipChanged(now);
    }

    @Override
    public void tick(long nowNanos) {
      fail();
      rule.tick(nowNanos);
    }

    @Override
    public void close(String why) {
      fail();
      rule.close(why);
    }
  }
}
