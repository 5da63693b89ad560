package io.vertigrad.internal.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.internal.membership.RankUpdates;
import io.vertigrad.internal.timeline.SpanRecorder;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests a shard's counts of two ranks' updates of one partition, in a job of 10 updates. */
final class ShardUpdatesTest {

  private final TestJob job = new TestJob("{\"name\": \"async\"}", 4, 0, 5, 2).withRanks(2);
  private final TestShard shard = with(job.shard());

  @Test
  void shouldCountAnUpdateOnceWhenItIsRepeated() {
    send(shard, 0, 0, 1);
    send(shard, 0, 0, 1);
    send(shard, 1, 0, 1);
    send(shard, 0, 0, 1);

    assertEquals(
        List.of(counts(0, 1, 0, 0, 0, Map.of(1L, 1)), counts(1, 1, 0, 0, 0, Map.of(1L, 1))),
        shard.internal().updates());
  }

  @Test
  void shouldRecordTheWorkerWhenGradientsAreAppliedSingly() {
    assertEquals(
        List.of(
            "apply partition 0 of worker 1, version 0",
            "apply partition 0 of worker 0, version 1",
            "apply partition 0 of worker 1, version 2"),
        spans(job, List.of(1, 0, 1)));
  }

  @Test
  void shouldRecordNoWorkerWhenGradientsAreAppliedTogether() {
    TestJob rounds = new TestJob("{\"name\": \"sync\"}", 4, 0, 5, 2).withRanks(2);

    assertEquals(List.of("apply partition 0, version 0"), spans(rounds, List.of(1, 0)));
  }

  /** Returns the spans of a server that receives one gradient after the other of these ranks. */
  private List<String> spans(TestJob job, List<Integer> ranks) {
    List<String> spans = new ArrayList<>();
    ParameterStore store = job.store(0);
    store.recordOn(
        new SpanRecorder() {
          @Override
          public long now() {
            return 5_000;
          }

          @Override
          public void span(String name, long begunNanos, long endedNanos, long step) {
            assertTrue(endedNanos - begunNanos >= 1_000, "no update is too short for a timeline");
            spans.add(name + ", version " + step);
          }
        });
    TestShard recorded = with(job.shard(0, store, () -> new PartitionLedger(2)));
    int[] steps = new int[2];
    ranks.forEach(rank -> send(recorded, rank, steps[rank]++, 1));
    return spans;
  }

  @Test
  void shouldReportARankThatSentNothing() {
    assertEquals(0, shard.internal().updates().get(1).lost(0));
    assertEquals(3, shard.internal().updates().get(1).lost(3), "nobody saw its steps");
  }

  @Test
  void shouldRollBackParametersAndCountRepeatedUpdates() {
    send(shard, 0, 0, 1);
    send(shard, 1, 0, 1);
    TestShard replacement = job.shard(0, 1);
    replacement.restoreFrom(shard);
    with(replacement);
    send(shard, 0, 1, 1);

    assertEquals(
        1, replacement.internal().updates().get(0).counts().applied(), "its step 1 was undone");
    assertEquals(1, replacement.internal().updates().get(0).lost(2), "and is missing until then");
    send(replacement, 0, 1, 1);
    assertEquals(2, replacement.internal().updates().get(0).counts().applied());
    assertEquals(0, replacement.internal().updates().get(0).lost(2));
  }

  @Test
  void shouldReportASkippedStep() {
    send(shard, 0, 0, 1);
    send(shard, 0, 3, 1);

    assertEquals(
        counts(0, 2, 0, 0, 2, Map.of(4L, 1)), shard.internal().updates().get(0), "steps 1 and 2");
    assertEquals(2, shard.internal().updates().get(0).lost(4));
  }

  @Test
  void shouldCountRefusedUpdatesWithoutReportingThemAsLost() {
    send(shard, 0, 0, Float.NaN);
    send(shard, 0, 0, Float.NaN);
    assertEquals(1, shard.internal().updates().get(0).counts().refused());
    assertEquals(0, shard.internal().updates().get(0).lost(1), "its step is over");

    send(shard, 0, 1, 1);

    assertEquals(counts(0, 1, 0, 1, 0, Map.of(2L, 1)), shard.internal().updates().get(0));
  }

  @Test
  void shouldCountAStepAsAppliedWhenAReplacementRepeatsARefusedOne() {
    send(shard, 0, 0, Float.NaN);
    send(shard, 0, 0, 1);

    assertEquals(counts(0, 1, 0, 0, 0, Map.of(1L, 1)), shard.internal().updates().get(0));
  }

  @Test
  void shouldCountAnUpdateAfterTheLastVersionAsLateOnce() {
    for (int step = 0; step < 10; step++) {
      send(shard, 0, step, 1);
    }
    send(shard, 1, 0, 1);
    send(shard, 1, 0, 1);

    assertEquals(
        List.of(counts(0, 10, 0, 0, 0, Map.of()), counts(1, 0, 1, 0, 0, Map.of())),
        shard.internal().updates());
  }

  @Test
  void shouldReportVersionsThatNoUpdateExplains() {
    send(shard, 0, 0, 1);
    TestShard replacement = job.shard(0, 1);
    replacement.restoreFrom(shard);
    with(replacement);

    // This worker has seen version 4, which the shard has lost with the updates before it.
    replacement.handle(job.gradient(0, 4, 0, 4, 1, 1, 1, 1));

    RankUpdates counted = replacement.internal().updates().get(0);
    assertEquals(3, counted.unexplained());
    assertEquals(3, counted.counts().skipped());
  }

  @Test
  void shouldCountTheStepsOfAnExtraWorkerPerIncarnation() {
    shard.membershipChanged(
        new Membership(
            2, List.of(new Member(0, 0, 0), new Member(1, 0, 0), new Member(2, 0, 0)), List.of()));
    send(shard, 2, 0, 1);
    send(shard, 2, 1, 1);
    shard.membershipChanged(
        new Membership(
            3, List.of(new Member(0, 0, 0), new Member(1, 0, 0), new Member(2, 1, 0)), List.of()));

    ExchangeId first = new ExchangeId(TestJob.JOB, 2, 1, 3, 0, 0);
    shard.handle(job.gradient(first, 0, 10, 1, 1, 1, 1));

    assertEquals(3, shard.internal().updates().get(2).counts().applied());
  }

  private static RankUpdates counts(
      int rank, long applied, long late, long refused, long skipped, Map<Long, Integer> open) {
    return new RankUpdates(rank, new UpdateCounts(applied, late, 0, refused, skipped), 0, open);
  }

  private void send(TestShard to, int rank, long step, float value) {
    to.handle(job.gradient(rank, step, 0, 0, value, 1, 1, 1));
  }

  private static TestShard with(TestShard shard) {
    shard.membershipChanged(TestJob.workers(2));
    return shard;
  }
}
