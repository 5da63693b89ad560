package io.vertigrad.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class UpdateFilterTest {

  private final TestJob job = new TestJob("{\"name\": \"sync\"}", 8, 0, 9, 2);
  private final TestShard shard = job.shard();

  @BeforeEach
  void admitWorkerOneInItsThirdIncarnation() {
    shard.membershipChanged(new Membership(4, List.of(new Member(1, 2, 0)), List.of()));
  }

  @Test
  void shouldNameBothLayoutsWhenTheyDiffer() {
    GradientPartition good = good();
    GradientPartition other =
        new GradientPartition(good.id(), 0xbadL, 0, 10, good.firstElement(), good.gradient());

    assertRefused(
        other,
        Reason.WRONG_LAYOUT,
        "shard 0: found partition 1 of layout 0000000000000bad, expected one of [0, 1] of layout"
            + " %016x; use the same job file and model".formatted(job.layout().hash()));
  }

  @Test
  void shouldNameThePartitionsWhenItIsNotHere() {
    GradientPartition good = good();
    GradientPartition other =
        new GradientPartition(
            id(1, 2, 4, 7), good.layout(), 0, 10, good.firstElement(), good.gradient());

    assertEquals(Reason.WRONG_LAYOUT, refusal(other).reason());
  }

  @Test
  void shouldNameFirstElementAndLengthWhenTheyDiffer() {
    GradientPartition good = good();
    TensorView short3 = Tensor.ofFloats(1, 2, 3);

    assertRefused(
        new GradientPartition(good.id(), good.layout(), 0, 10, 3, good.gradient()),
        Reason.WRONG_LAYOUT,
        "partition 1: found first element 3 from worker 1, expected 4; use the same job file and"
            + " model");
    assertRefused(
        new GradientPartition(good.id(), good.layout(), 0, 10, 4, short3),
        Reason.WRONG_LAYOUT,
        "partition 1: found length 3 from worker 1, expected 4; use the same job file and model");
  }

  @Test
  void shouldCopyTheAnswerWhenAnUpdateIsRepeated() {
    TestJob two = new TestJob("{\"name\": \"sync\"}", 8, 0, 9, 2);
    TestShard shard = two.shard();
    shard.membershipChanged(TestJob.workers(2));
    Shard shared = shard.internal();
    Future<Frame> first = shared.handle(two.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> repeated = shared.handle(two.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    giveBack(shared.handle(two.gradient(1, 0, 0, 0, 1, 1, 1, 1)).result());
    float[] values = TestJob.values((ParameterPartition) repeated.result());

    giveBack(first.result());
    for (int step = 1; step < 5; step++) {
      Future<Frame> next = shared.handle(two.gradient(0, step, 0, step, 1, 1, 1, 1));
      giveBack(shared.handle(two.gradient(1, step, 0, step, 1, 1, 1, 1)).result());
      giveBack(next.result());
    }

    assertArrayEquals(values, TestJob.values((ParameterPartition) repeated.result()));
    assertFalse(
        Arrays.equals(values, TestJob.values((ParameterPartition) first.result())),
        "its memory was written again");
    giveBack(repeated.result());
  }

  private static void giveBack(Frame answer) {
    new TensorMemory().giveBack(((ParameterPartition) answer).parameters());
  }

  @Test
  void shouldRefuseWhenTheJobIsAnother() {
    ExchangeId id = new ExchangeId(99, 1, 2, 4, 0, 1);

    Refusal refusal = refusal(job.gradient(id, 0, 10, 1, 1, 1, 1));

    assertEquals(Reason.WRONG_LAYOUT, refusal.reason());
  }

  @Test
  void shouldRefuseWithoutRetryWhenTheIncarnationIsOlder() {
    assertRefused(
        job.gradient(id(1, 1, 4, 1), 0, 10, 1, 1, 1, 1),
        Reason.STALE_INCARNATION,
        "partition 1: found worker 1 of incarnation 1, expected incarnation 2 as of membership"
            + " epoch 4; join again");
  }

  @Test
  void shouldRefuseWithoutRetryWhenTheRankIsNoMember() {
    assertRefused(
        job.gradient(id(0, 0, 4, 1), 0, 10, 1, 1, 1, 1),
        Reason.STALE_INCARNATION,
        "partition 1: found worker 0 of incarnation 0, expected nobody of this rank as of"
            + " membership epoch 4; join again");
  }

  @Test
  void shouldAskToTryAgainWhenTheSenderKnowsMore() {
    Refusal newer = refusal(job.gradient(id(1, 3, 4, 1), 0, 10, 1, 1, 1, 1));
    Refusal unheardOf = refusal(job.gradient(id(0, 0, 5, 1), 0, 10, 1, 1, 1, 1));

    assertEquals(Reason.UNAVAILABLE, newer.reason());
    assertEquals(Reason.UNAVAILABLE, unheardOf.reason());
    assertEquals(0, shard.counters().refused(), "will be tried again");
  }

  @Test
  void shouldCountARefusalWhenItIsFinal() {
    refusal(job.gradient(id(0, 0, 4, 1), 0, 10, 1, 1, 1, 1));
    refusal(job.gradient(id(1, 2, 4, 1), 0, 10, Float.POSITIVE_INFINITY, 1, 1, 1));

    assertEquals(2, shard.counters().refused());
    assertArrayEquals(new float[] {0.5f, 0.625f, 0.75f, 0.875f}, job.parameters(shard, 1));
  }

  @Test
  void shouldAcceptTheFirstStepOfANewIncarnationBehindItsPredecessor() {
    for (int step = 0; step < 3; step++) {
      ExchangeId id = new ExchangeId(TestJob.JOB, 1, 2, 4, step, 1);
      shard.handle(job.gradient(id, step, 10, 1, 1, 1, 1));
    }
    shard.membershipChanged(new Membership(5, List.of(new Member(1, 3, 3)), List.of()));

    Frame answer = shard.handle(job.gradient(id(1, 3, 5, 1), 3, 10, 1, 1, 1, 1)).result();

    assertEquals(Outcome.APPLIED, assertInstanceOf(ParameterPartition.class, answer).outcome());
  }

  @Test
  void shouldRefuseALaterStepWhenAnEarlierOneStillWaits() {
    shard.membershipChanged(TestJob.of(5, 0, 1));
    Future<Frame> first = shard.handle(job.gradient(0, 0, 1, 0, 1, 1, 1, 1));

    Refusal hasty = refusal(job.gradient(0, 1, 1, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(1, 0, 1, 0, 1, 1, 1, 1));

    assertEquals(Reason.PROTOCOL, hasty.reason());
    assertEquals(
        Outcome.APPLIED, assertInstanceOf(ParameterPartition.class, first.result()).outcome());
  }

  private GradientPartition good() {
    return job.gradient(id(1, 2, 4, 1), 0, 10, 1, 1, 1, 1);
  }

  private static ExchangeId id(int worker, int incarnation, int epoch, int partition) {
    return new ExchangeId(TestJob.JOB, worker, incarnation, epoch, 0, partition);
  }

  private void assertRefused(GradientPartition update, Reason reason, String message) {
    Refusal refusal = refusal(update);
    assertEquals(reason, refusal.reason());
    assertEquals(message, refusal.message());
    assertEquals(update.id(), refusal.id());
  }

  private Refusal refusal(GradientPartition update) {
    return assertInstanceOf(Refusal.class, shard.handle(update).result());
  }
}
