package io.vertigrad.internal.shard;

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
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.Barrier.Reduction;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.PartitionStore;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/**
 * Tests rounds that need a sum over all partitions. The rule steps with the sum of all elements of
 * all gradients, in every element. A job has four trainable partitions of two elements.
 */
final class ShardSumsTest {

  private static final long DEADLINE_MILLIS = 50_000;

  private TestJob job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 8, 2, 6, 2, 2, 1);

  /** Sums all elements of the round before its step. */
  private static final class SumOfAll implements Reduction {

    private final ServerStrategyContext context;
    private float sum;

    SumOfAll(ServerStrategyContext context) {
      this.context = context;
    }

    @Override
    public Future<?> prepare(List<GradientPartition> gradients, PartitionStore store) {
      double own = gradients.stream().mapToDouble(each -> elements(each)[0]).sum() * 2;
      return context.sums().sum(store.version(), new double[] {own}).map(this::take);
    }

    private double[] take(double[] total) {
      sum = (float) total[0];
      return total;
    }

    @Override
    public void reduce(List<GradientPartition> gradients, PartitionStore store) {
      float[] step = new float[store.length()];
      Arrays.fill(step, sum);
      store.apply(step, 1, gradients.size());
    }
  }

  private static float[] elements(GradientPartition update) {
    float[] elements = new float[update.gradient().length()];
    update.gradient().copyTo(elements, 0);
    return elements;
  }

  @Test
  void shouldStepAllPartitionsWhenTheLastOneHasItsGradients() {
    TestShard shard = shard(0, 0, SumOfAll::new);
    Future<Frame> first = send(shard, 0, 0, 0, 1);
    send(shard, 0, 0, 1, 10);
    send(shard, 1, 0, 0, 2);
    send(shard, 1, 0, 1, 20);
    send(shard, 0, 0, 2, 100);
    send(shard, 1, 0, 2, 200);
    Future<Frame> pull = shard.handle(job.pull(-1, 0, 0, 1));
    send(shard, 0, 0, 3, 1000);
    assertFalse(first.isComplete(), "three partitions wait for the fourth");
    assertEquals(0, shard.internal().highestVersion());

    Future<Frame> last = send(shard, 1, 0, 3, 2000);

    assertEquals(Outcome.APPLIED, answer(first).outcome());
    assertEquals(Outcome.APPLIED, answer(last).outcome());
    assertTrue(pull.succeeded(), "a pull that waited for the version is answered");
    assertEquals(1, shard.internal().highestVersion());
    assertEquals(0, shard.version(), "the statistics have no gradient yet");
    requireStepped(shard, 3333 * 2, 0, 1, 2, 3);
  }

  @Test
  void shouldStepInBothShardsWhenEachHasTheSumOfTheOther() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    TestShard second = shard(1, 0, SumOfAll::new);
    Future<Frame> early = round(second, 0, 2, 3, 1);
    assertFalse(early.isComplete());

    Future<Frame> late = round(first, 0, 0, 1, 10);

    assertEquals(Outcome.APPLIED, answer(early).outcome());
    assertEquals(Outcome.APPLIED, answer(late).outcome());
    requireStepped(first, 2 * (1 + 1 + 1 + 1 + 10 + 10 + 10 + 10), 0, 1);
    requireStepped(second, 2 * (1 + 1 + 1 + 1 + 10 + 10 + 10 + 10), 2, 3);
  }

  /** By partition, the sum would be 1: of (1e16 + 1 - 1e16) + 1 only the first 1 is rounded off. */
  @Test
  void shouldAddTheSumsOfTheShardsInTheirOrderWhenTheSecondComesFirst() {
    double[] shares = {1e16, 1, -1e16, 1};
    List<Future<double[]>> sums = new ArrayList<>();
    spread();
    Function<ServerStrategyContext, Reduction> rule =
        context -> {
          double share = shares[context.partition().index()];
          sums.add(context.sums().sum(3, new double[] {share}));
          return new SumOfAll(context);
        };

    TestShard second = shard(1, 0, rule);
    TestShard first = shard(0, 0, rule);
    second.tick(job.clock.getAsLong());
    first.tick(job.clock.getAsLong());

    assertEquals(4, sums.size());
    for (Future<double[]> sum : sums) {
      assertArrayEquals(new double[] {0}, sum.result());
    }
  }

  @Test
  void shouldAskAgainWhenAMessageIsLost() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    TestShard second = shard(1, 0, SumOfAll::new);
    job.losingSums(3);
    Future<Frame> one = round(first, 0, 0, 1, 1);
    Future<Frame> two = round(second, 0, 2, 3, 1);
    first.tick(job.clock.getAsLong());
    assertFalse(one.isComplete() || two.isComplete(), "all three questions are lost");

    second.tick(job.clock.getAsLong());
    assertEquals(Outcome.APPLIED, answer(two).outcome());
    assertFalse(one.isComplete());
    first.tick(job.clock.getAsLong());

    assertEquals(Outcome.APPLIED, answer(one).outcome());
    requireStepped(first, 16, 0, 1);
    requireStepped(second, 16, 2, 3);
  }

  @Test
  void shouldAnswerAShardThatIsOneRoundBehind() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    TestShard second = shard(1, 0, SumOfAll::new);
    TestShard copy = copyOf(second);
    round(first, 0, 0, 1, 1);
    round(second, 0, 2, 3, 1);
    first.tick(job.clock.getAsLong());
    requireStepped(first, 16, 0, 1);

    TestShard again = restarted(copy);
    Future<Frame> repeated = round(again, 0, 2, 3, 1);
    again.tick(job.clock.getAsLong());

    assertEquals(Outcome.APPLIED, answer(repeated).outcome());
    requireStepped(again, 16, 2, 3);
  }

  @Test
  void shouldNameTheShardWhenItsPartOfTheSumIsMissingAtTheDeadline() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    Future<Frame> waits = round(first, 0, 0, 1, 1);

    job.clock.advanceMillis(DEADLINE_MILLIS);
    first.tick(job.clock.getAsLong());

    Refusal refusal = assertInstanceOf(Refusal.class, waits.result());
    assertEquals(Reason.DEADLINE, refusal.reason());
    assertEquals(
        "test: partition 1, round 0: all gradients came, but not what the step needs from shard 1"
            + " (no server) within 50000 ms; see what holds it up, or raise"
            + " strategy.deadlineMillis",
        refusal.message());
    assertEquals(0, first.version(), "nothing is applied");
  }

  @Test
  void shouldNameThePartitionWhenItHoldsUpTheOthers() {
    TestShard shard = shard(0, 0, SumOfAll::new);
    Future<Frame> waits = send(shard, 0, 0, 0, 1);
    send(shard, 1, 0, 0, 1);

    job.clock.advanceMillis(DEADLINE_MILLIS);
    shard.tick(job.clock.getAsLong());

    assertTrue(
        ((Refusal) waits.result()).message().contains("needs from partitions [1, 2, 3] of shard 0"),
        () -> waits.result().toString());
  }

  @Test
  void shouldTakeTheStepInALaterAttemptWhenTheDeadlineHadPassed() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    round(first, 0, 0, 1, 1);
    job.clock.advanceMillis(DEADLINE_MILLIS);
    first.tick(job.clock.getAsLong());

    Future<Frame> again = round(first, 0, 0, 1, 1);
    TestShard second = shard(1, 0, SumOfAll::new);
    Future<Frame> other = round(second, 0, 2, 3, 1);
    first.tick(job.clock.getAsLong());

    assertEquals(Outcome.APPLIED, answer(again).outcome());
    assertEquals(Outcome.APPLIED, answer(other).outcome());
    requireStepped(first, 16, 0, 1);
  }

  @Test
  void shouldEndTheShardWhenAReductionFailsAfterTheSum() {
    TestShard shard = shard(0, 0, context -> new FailingReduction(new SumOfAll(context)));
    Future<Frame> first = round(shard, 0, 0, 1, 1);

    Future<Frame> last = round(shard, 0, 2, 3, 1);

    assertEquals(Reason.UNAVAILABLE, ((Refusal) first.result()).reason());
    assertEquals(Reason.UNAVAILABLE, ((Refusal) last.result()).reason());
    String failure = shard.failure().orElseThrow();
    assertTrue(failure.contains("partition 0, version 0"), failure);
    assertTrue(failure.contains("no coefficients"), failure);
    assertEquals(0, shard.counters().applied());
  }

  /** Fails once the sum is there. */
  private record FailingReduction(Reduction reduction) implements Reduction {

    @Override
    public Future<?> prepare(List<GradientPartition> gradients, PartitionStore store) {
      return reduction
          .prepare(gradients, store)
          .compose(sum -> Future.failedFuture(new IllegalStateException("no coefficients")));
    }

    @Override
    public void reduce(List<GradientPartition> gradients, PartitionStore store) {
      throw new AssertionError("a step without its sum");
    }
  }

  @Test
  void shouldAnswerANewcomerAsLateWhenItsRoundHasClosed() {
    TestShard shard = shard(0, 0, SumOfAll::new);
    round(shard, 0, 0, 1, 1);
    shard.membershipChanged(TestJob.of(2, 0, 1, 2));

    Future<Frame> late = send(shard, 2, 0, 0, 50);
    for (int rank = 0; rank < 3; rank++) {
      send(shard, rank, 0, 2, 1);
      send(shard, rank, 0, 3, 1);
    }

    assertEquals(Outcome.LATE, answer(late).outcome());
    assertEquals(1, answer(late).version());
    requireStepped(shard, 2 * (2 + 2 + 3 + 3), 0, 1, 2, 3);
  }

  @Test
  void shouldKeepTheRoundWhenAWorkerLeavesBeforeItsStep() {
    TestShard shard = shard(0, 0, SumOfAll::new);
    shard.membershipChanged(TestJob.of(2, 0, 1, 2));
    for (int rank = 0; rank < 3; rank++) {
      send(shard, rank, 0, 0, 1);
    }
    Future<Frame> left = send(shard, 2, 0, 1, 1);

    shard.membershipChanged(TestJob.of(3, 0, 1));
    Future<Frame> stays = send(shard, 0, 0, 1, 1);
    send(shard, 1, 0, 1, 1);
    round(shard, 0, 2, 3, 1);

    assertEquals(Reason.STALE_INCARNATION, ((Refusal) left.result()).reason());
    assertEquals(Outcome.APPLIED, answer(stays).outcome());
    requireStepped(shard, 2 * (3 + 2 + 2 + 2), 0, 1, 2, 3);
  }

  @Test
  void shouldAnswerAllWhenTheShardClosesBeforeTheStep() {
    spread();
    TestShard first = shard(0, 0, SumOfAll::new);
    Future<Frame> waits = round(first, 0, 0, 1, 1);

    first.close("the server stops");

    assertEquals("the server stops", ((Refusal) waits.result()).message());
  }

  @Test
  void shouldTreatMissingNumbersAsZerosWhenSharesDifferInLength() {
    List<Future<double[]>> sums = new ArrayList<>();
    shard(
        0,
        0,
        context -> {
          double[] share = new double[context.partition().index() + 1];
          Arrays.fill(share, context.partition().index() + 1);
          if (context.partition().index() < 4) {
            sums.add(context.sums().sum(7, share));
          }
          return new SumOfAll(context);
        });

    assertEquals(4, sums.size());
    for (Future<double[]> sum : sums) {
      assertArrayEquals(new double[] {10, 9, 7, 4}, sum.result());
    }
  }

  private void spread() {
    job = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 8, 0, 6, 2, 2, 2);
  }

  private TestShard shard(
      int index, int incarnation, Function<ServerStrategyContext, Reduction> rule) {
    TestShard shard = unstarted(index, incarnation, rule);
    shard.membershipChanged(TestJob.workers(2));
    return shard;
  }

  private TestShard unstarted(
      int index, int incarnation, Function<ServerStrategyContext, Reduction> rule) {
    return job.shard(
        incarnation,
        job.store(index),
        () -> new PartitionLedger(2),
        StrategyFactory.inRounds(
            context -> Barrier.keepingAll("test", DEADLINE_MILLIS, context, rule.apply(context))));
  }

  /** Returns a shard that keeps the state that another has now. */
  private TestShard copyOf(TestShard shard) {
    TestJob other = job;
    spread();
    TestShard copy = unstarted(1, 0, SumOfAll::new);
    copy.restoreFrom(shard);
    job = other;
    return copy;
  }

  private TestShard restarted(TestShard from) {
    TestShard again = unstarted(1, 1, SumOfAll::new);
    again.restoreFrom(from);
    again.membershipChanged(
        new Membership(2, List.of(new Member(0, 0, 0), new Member(1, 0, 0)), List.of()));
    return again;
  }

  /** Sends the gradients of both workers for two partitions, and returns the last answer. */
  private Future<Frame> round(TestShard shard, long step, int part, int other, float value) {
    send(shard, 0, step, part, value);
    send(shard, 1, step, part, value);
    send(shard, 0, step, other, value);
    return send(shard, 1, step, other, value);
  }

  private Future<Frame> send(TestShard shard, int worker, long step, int part, float value) {
    ExchangeId id = new ExchangeId(TestJob.JOB, worker, 0, 1, step, part);
    return shard.handle(job.gradient(id, step, 10, value, value));
  }

  private static ParameterPartition answer(Future<Frame> answer) {
    assertTrue(answer.succeeded(), () -> String.valueOf(answer));
    return assertInstanceOf(ParameterPartition.class, answer.result());
  }

  private void requireStepped(TestShard shard, float sum, int... partitions) {
    for (int part : partitions) {
      float[] expected = Arrays.copyOfRange(job.initial(), 2 * part, 2 * part + 2);
      for (int i = 0; i < 2; i++) {
        float gradient = sum;
        expected[i] -= TestJob.LEARNING_RATE * gradient;
      }
      assertArrayEquals(expected, job.parameters(shard, part), "partition " + part);
    }
  }
}
