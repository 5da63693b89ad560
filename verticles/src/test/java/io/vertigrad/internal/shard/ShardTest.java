package io.vertigrad.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.shard.Shard.ShardCounters;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShardTest {

  private final TestJob job = new TestJob("{\"name\": \"sync\"}", 8, 2, 5, 1);
  private final TestShard shard = job.shard();

  @Test
  void shouldAnswerAPullAtOnceWhenItsVersionIsThere() {
    ParameterPartition answer =
        assertInstanceOf(ParameterPartition.class, shard.handle(job.pull(-1, 0, 1, 0)).result());

    assertEquals(Outcome.PULLED, answer.outcome());
    assertEquals(4, answer.firstElement());
    assertArrayEquals(new float[] {0.5f, 0.625f, 0.75f, 0.875f}, TestJob.values(answer));
  }

  @Test
  void shouldDelayAPullUntilItsVersionIsThere() {
    shard.membershipChanged(TestJob.workers(1));
    Future<Frame> pull = shard.handle(job.pull(-1, 0, 1, 1));
    Future<Frame> again = shard.handle(job.pull(-1, 0, 1, 1));
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    assertFalse(pull.isComplete(), "another partition moved");

    shard.handle(job.gradient(0, 0, 1, 0, 1, 1, 1, 1));

    assertEquals(1, assertInstanceOf(ParameterPartition.class, pull.result()).version());
    assertTrue(again.succeeded());
  }

  @Test
  void shouldNameTheVersionReachedWhenAPullWaitsTooLong() {
    Future<Frame> pull = shard.handle(job.pull(-1, 0, 1, 3));

    job.clock.advanceMillis(TestJob.PULL_DEADLINE_MILLIS);
    shard.tick(job.clock.getAsLong());

    Refusal refusal = assertInstanceOf(Refusal.class, pull.result());
    assertEquals(Reason.DEADLINE, refusal.reason());
    assertEquals(
        "partition 1: found version 0 after 20000 ms, expected 3; the workers make no progress",
        refusal.message());
  }

  @Test
  void shouldAnswerAPullBeyondTheEndWithTheLastVersion() {
    shard.membershipChanged(TestJob.workers(1));
    for (int step = 0; step < 5; step++) {
      shard.handle(job.gradient(0, step, 0, step, 1, 1, 1, 1));
    }

    Future<Frame> pull = shard.handle(job.pull(-1, 0, 0, 6));

    assertEquals(5, assertInstanceOf(ParameterPartition.class, pull.result()).version());
  }

  @Test
  void shouldRefuseInvalidRequests() {
    Frame answer = shard.handle(job.pull(-1, 0, 0, 0)).result();

    assertEquals(Reason.PROTOCOL, refusal(shard.handle(answer)).reason());
  }

  @Test
  void shouldReleaseAnUnreadableFrameSoThatItIsSentAgain() {
    Malformed damaged = new Malformed("magic", 0, "1", "2");

    assertSame(damaged, shard.handle(damaged).result());
  }

  @Test
  void shouldReuseTheMemoryOfAnAnswerWhenAllReadersReleasedIt() {
    shard.membershipChanged(TestJob.workers(1));
    TensorView first = step(0);
    TensorView pulled =
        ((ParameterPartition) shard.internal().handle(job.pull(-1, 0, 0, 0)).result()).parameters();
    float[] values = values(first);
    giveBack(first);
    giveBack(step(1));
    assertArrayEquals(values, values(pulled), "somebody still reads it");

    giveBack(pulled);
    giveBack(pulled);
    List<TensorView> later = List.of(step(2), step(3), step(4));

    assertTrue(
        later.stream().anyMatch(version -> Arrays.equals(values(version), values(pulled))),
        "one of them took its memory");
    later.forEach(ShardTest::giveBack);
  }

  @Test
  void shouldKeepAnAnswerThatIsNeverReleased() {
    shard.membershipChanged(TestJob.workers(1));
    TensorView first = step(0);
    float[] values = values(first);

    for (int step = 1; step < 5; step++) {
      giveBack(step(step));
    }

    assertArrayEquals(values, values(first));
    giveBack(first);
  }

  /** Returns the lent answer to a gradient of ones for the first partition. */
  private TensorView step(int step) {
    Frame answer = shard.internal().handle(job.gradient(0, step, 0, step, 1, 1, 1, 1)).result();
    return assertInstanceOf(ParameterPartition.class, answer).parameters();
  }

  private static void giveBack(TensorView tensor) {
    new TensorMemory().giveBack(tensor);
  }

  private static float[] values(TensorView tensor) {
    float[] values = new float[tensor.length()];
    tensor.copyTo(values, 0);
    return values;
  }

  @Test
  void shouldReportTheVersionEveryPartitionHasReached() {
    shard.membershipChanged(TestJob.workers(1));
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    assertEquals(0, shard.version());

    shard.handle(job.gradient(0, 0, 1, 0, 1, 1, 1, 1));
    shard.handle(job.gradient(0, 0, 2, 0, 1, 1));

    assertEquals(new ShardCounters(1, 10, 3, 0, 0, 0, 0), shard.internal().counters());
  }

  @Test
  void shouldBeFinishedAtTheStartWhenThereAreMoreShardsThanPartitions() {
    TestJob small = new TestJob(new JsonObject("{\"name\": \"sync\"}"), 4, 0, 5, 1, 4, 2);
    List<TestShard> shards = List.of(small.shard(0, 0), small.shard(1, 0));

    assertEquals(
        List.of(5L, 0L),
        shards.stream().map(TestShard::version).sorted((a, b) -> b > a ? 1 : -1).toList());
  }

  @Test
  void shouldIgnoreAMembershipWhenItIsOlder() {
    shard.membershipChanged(TestJob.of(3, 0));
    shard.membershipChanged(TestJob.of(2));

    assertTrue(shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1)).succeeded());
    assertEquals(1, shard.counters().applied());
  }

  @Test
  void shouldSkipRoundsWithoutWorkers() {
    shard.membershipChanged(TestJob.of(1, 0));
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> newcomer = shard.handle(job.pull(1, 0, 0, 4));

    shard.membershipChanged(new Membership(2, List.of(new Member(1, 0, 4)), List.of()));

    assertEquals(4, assertInstanceOf(ParameterPartition.class, newcomer.result()).version());
    assertEquals(4, shard.version());
  }

  @Test
  void shouldStartANewcomerEarlierWhenTheServerFellBack() {
    shard.membershipChanged(TestJob.of(1, 0));
    Future<Frame> newcomer = shard.handle(job.pull(1, 0, 0, 4));
    Member told = new Member(1, 0, 4);
    shard.membershipChanged(new Membership(2, List.of(new Member(0, 0, 0), told), List.of()));
    assertFalse(newcomer.isComplete());

    Member now = new Member(1, 0, 0);
    shard.membershipChanged(new Membership(3, List.of(new Member(0, 0, 0), now), List.of()));

    assertEquals(0, assertInstanceOf(ParameterPartition.class, newcomer.result()).version());
  }

  /**
   * The shard takes the proposed membership first; the replacement's first round is agreed after
   * it.
   */
  @Test
  void shouldSendAReplacementTheAgreedVersionWhenItAsksEarly() {
    TestJob two = new TestJob("{\"name\": \"sync\"}", 8, 0, 9, 2).withRanks(2);
    TestShard ahead = two.shard();
    ahead.membershipChanged(TestJob.workers(2));
    ahead.handle(two.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    float[] before = two.parameters(ahead, 0);
    ahead.handle(two.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    Member stays = new Member(0, 0, 0);
    Member proposed = new Member(1, 1, 0);
    ahead.propose(new Membership(2, List.of(stays, proposed), List.of()));

    Frame repeats = ahead.handle(pull(two, proposed, 0)).result();
    Future<Frame> waits = ahead.handle(pull(two, proposed, 2));

    ParameterPartition answer = assertInstanceOf(ParameterPartition.class, repeats);
    assertEquals(0, answer.version());
    assertArrayEquals(before, TestJob.values(answer));
    assertFalse(waits.isComplete(), "the round before its first is still open here");
    ahead.membershipChanged(new Membership(2, List.of(stays, new Member(1, 1, 1)), List.of()));
    assertEquals(1, assertInstanceOf(ParameterPartition.class, waits.result()).version());
  }

  /**
   * One partition has closed the round, another has not: its workers repeat it from one version.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldSendTheVersionBeforeWhenTheServerWasReplacedInARound(boolean begun) {
    TestJob two = new TestJob("{\"name\": \"sync\"}", 8, 0, 9, 2).withRanks(2);
    TestShard lost = two.shard();
    lost.membershipChanged(TestJob.workers(2));
    lost.handle(two.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    float[] before = two.parameters(lost, 0);
    lost.handle(two.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    TestShard next = two.shard();

    Checkpoint copy =
        begun ? lost.internal().beginCopy(new CopyMemory(), true) : lost.internal().snapshot();
    next.internal().restore(copy);
    copy.release();
    Member repeats = new Member(0, 1, 0);
    next.membershipChanged(new Membership(2, List.of(repeats, new Member(1, 1, 0)), List.of()));
    Frame found = next.handle(pull(two, repeats, 0)).result();

    ParameterPartition answer = assertInstanceOf(ParameterPartition.class, found);
    assertEquals(0, answer.version());
    assertArrayEquals(before, TestJob.values(answer));
  }

  private static Frame pull(TestJob of, Member worker, long minimumVersion) {
    ExchangeId id =
        new ExchangeId(
            TestJob.JOB, worker.rank(), worker.incarnation(), 2, (int) minimumVersion, 0);
    return new PullRequest(id, of.layout().hash(), minimumVersion);
  }

  @Test
  void shouldCloseARoundBelowTheQuorumWhenAllOthersWereInItBefore() {
    TestJob three = new TestJob("{\"name\": \"sync\", \"quorum\": 2}", 4, 0, 9, 3);
    TestShard shardOfThree = three.shard();
    shardOfThree.membershipChanged(TestJob.workers(3));
    shardOfThree.handle(three.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    shardOfThree.handle(three.gradient(2, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> alone = shardOfThree.handle(three.gradient(0, 0, 0, 1, 1, 1, 1, 1));

    shardOfThree.handle(three.gradient(1, 0, 0, 1, 1, 1, 1, 1));
    assertFalse(alone.isComplete(), "worker 2 could come");
    Frame repeated = shardOfThree.handle(three.gradient(2, 0, 0, 1, 1, 1, 1, 1)).result();

    assertEquals(2, assertInstanceOf(ParameterPartition.class, repeated).version());
    ParameterPartition answer = assertInstanceOf(ParameterPartition.class, alone.result());
    assertEquals(Outcome.APPLIED, answer.outcome());
    assertEquals(2, answer.version());
  }

  @Test
  void shouldAdvanceToTheVersionThatWorkersHaveSeenWhenRestored() {
    TestJob two = new TestJob("{\"name\": \"sync\"}", 4, 0, 9, 2);
    TestShard restored = two.shard(0, 1);
    restored.restoreFrom(two.shard());
    restored.membershipChanged(TestJob.workers(2));

    Future<Frame> behind = restored.handle(two.gradient(0, 5, 0, 5, 1, 1, 1, 1));
    Future<Frame> ahead = restored.handle(two.gradient(1, 6, 0, 6, 1, 1, 1, 1));
    restored.handle(two.gradient(0, 6, 0, 6, 1, 1, 1, 1));

    ParameterPartition late = assertInstanceOf(ParameterPartition.class, behind.result());
    assertEquals(Outcome.LATE, late.outcome());
    assertEquals(6, late.version());
    assertEquals(7, assertInstanceOf(ParameterPartition.class, ahead.result()).version());
  }

  @Test
  void shouldRefuseAStepFarAhead() {
    TestJob known = new TestJob("{\"name\": \"async\"}", 4, 0, 9, 1).withRanks(1);
    TestShard guarded = known.shard();
    guarded.membershipChanged(TestJob.workers(1));

    Refusal forged = refusal(guarded.handle(known.gradient(0, 1_000_000_000, 0, 0, 1, 1, 1, 1)));
    Frame real = guarded.handle(known.gradient(0, 0, 0, 0, 1, 1, 1, 1)).result();

    assertEquals(
        "partition 0: found step 1000000000 of worker 0, expected 0, or at most 64 after refused"
            + " ones",
        forged.message());
    assertEquals(Outcome.APPLIED, assertInstanceOf(ParameterPartition.class, real).outcome());
  }

  @Test
  void shouldAcceptAnyProposalWhenRestored() {
    Checkpoint snapshot = trained(job, job.shard(), 0, 3).internal().snapshot();
    TestShard restored = job.shard(0, 1);
    restored.internal().restore(snapshot);

    OptionalLong refusal = restored.propose(TestJob.workers(1));

    assertTrue(refusal.isEmpty());
    assertTrue(restored.handle(job.gradient(0, 3, 0, 3, 1, 1, 1, 1)).succeeded());
  }

  @Test
  void shouldContinueBitForBitWhenRestoredWithMomentum() {
    TestJob momentum = new TestJob("{\"name\": \"sync\"}", 8, 2, 9, 1);
    momentum.withMomentum(0.9f);
    TestShard first = trained(momentum, momentum.shard(), 0, 3);
    Checkpoint snapshot = first.internal().snapshot();
    trained(momentum, first, 3, 6);

    TestShard second = momentum.shard(0, 1);
    second.internal().restore(snapshot);
    trained(momentum, second, 3, 6);

    assertEquals(3, snapshot.version());
    for (int part = 0; part < 3; part++) {
      assertArrayEquals(momentum.parameters(first, part), momentum.parameters(second, part));
    }
    assertEquals(first.internal().counters().samples(), second.internal().counters().samples());
  }

  @Test
  void shouldNameTheOptimizerStateWhenTheCheckpointIsOfAnother() {
    TestShard plain = shard;
    TestShard momentum = new TestJob("{\"name\": \"sync\"}", 8, 2, 5, 1).withMomentum(0.9f).shard();
    String message =
        "checkpoint of partition 0: found %d elements of optimizer, expected %d; resume with the job"
            + " file it was written under";

    assertEquals(
        message.formatted(0, 4),
        assertThrows(IllegalArgumentException.class, () -> momentum.restoreFrom(plain))
            .getMessage());
    assertEquals(
        message.formatted(4, 0),
        assertThrows(IllegalArgumentException.class, () -> plain.restoreFrom(momentum))
            .getMessage());
  }

  @Test
  void shouldKnowTheStepsOfTheCheckpointThatItWentBackTo() {
    shard.membershipChanged(TestJob.workers(1));
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    TestShard next = job.shard(0, 0);
    next.restoreFrom(shard);
    next.membershipChanged(TestJob.workers(1));

    Frame again = next.handle(job.gradient(0, 0, 0, 1, 1, 1, 1, 1)).result();
    Frame following = next.handle(job.gradient(0, 1, 0, 1, 1, 1, 1, 1)).result();

    assertEquals(Outcome.DUPLICATE, assertInstanceOf(ParameterPartition.class, again).outcome());
    assertEquals(Outcome.APPLIED, assertInstanceOf(ParameterPartition.class, following).outcome());
  }

  private static TestShard trained(TestJob job, TestShard shard, int from, int to) {
    shard.membershipChanged(TestJob.workers(1));
    for (int step = from; step < to; step++) {
      shard.handle(job.gradient(0, step, 0, step, step, 1, -step, 2));
      shard.handle(job.gradient(0, step, 1, step, 0.1f, 0.2f, 0.3f, step));
      shard.handle(job.gradient(0, step, 2, step, 0.1f, 0.2f));
    }
    return shard;
  }

  private static Refusal refusal(Future<Frame> answer) {
    return assertInstanceOf(Refusal.class, answer.result());
  }
}
