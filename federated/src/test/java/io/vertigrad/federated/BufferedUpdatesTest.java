package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import org.junit.jupiter.api.Test;

class BufferedUpdatesTest {

  private static final float RATE = TestJob.LEARNING_RATE;

  private final TestJob job =
      new TestJob(
          "{\"name\": \"federated\", \"rule\": \"fedbuff\", \"localSteps\": 1, \"buffer\": 2}",
          4,
          2,
          12,
          3);

  @Test
  void shouldStepWithTheDampedMeanBySamplesWhenTheBufferIsFull() {
    TestShard shard = started(0);
    send(shard, update(0, 0, 0, 0, 10, 0, 0, 0, 0));
    send(shard, update(1, 0, 0, 0, 10, 0, 0, 0, 0));

    ParameterPartition fresh = send(shard, update(0, 1, 0, 1, 30, 4, 0, 0, 0));
    assertEquals(1, fresh.version(), "the buffer is not full");
    ParameterPartition stale = send(shard, update(2, 0, 0, 0, 10, 0, 8, 0, 0));

    assertEquals(Outcome.APPLIED, stale.outcome());
    assertEquals(1, stale.staleness());
    assertEquals(2, stale.version());
    double second = 8 / Math.sqrt(2) * 10 / 40;
    assertArrayEquals(
        new float[] {-RATE * 4 * 30 / 40, (float) (0.125 - RATE * second), 0.25f, 0.375f},
        TestJob.values(stale),
        1e-6f);
  }

  @Test
  void shouldAverageStatisticsWithoutDampingWhenAnUpdateIsStale() {
    TestShard shard = started(0);
    send(shard, update(0, 0, 1, 0, 10, 0, 0));
    send(shard, update(1, 0, 1, 0, 10, 0, 0));

    send(shard, update(0, 1, 1, 1, 10, 0.5f, 0));
    ParameterPartition stale = send(shard, update(2, 0, 1, 0, 10, 0, 0.25f));

    assertArrayEquals(new float[] {0.5f - 0.25f, 0.625f - 0.125f}, TestJob.values(stale), 1e-6f);
  }

  @Test
  void shouldCountAnUpdateOnceWhenItIsRepeatedBeforeAndAfterARestart() {
    TestShard first = started(0);
    GradientPartition update = update(0, 0, 0, 0, 10, 4, 0, 0, 0);
    send(first, update);
    assertEquals(Outcome.DUPLICATE, send(first, update).outcome());
    TestShard second = job.shard(0, 1);

    second.restoreFrom(first);
    second.membershipChanged(TestJob.workers(3));
    assertEquals(Outcome.DUPLICATE, send(second, update).outcome());
    ParameterPartition last = send(second, update(1, 0, 0, 0, 10, 0, 4, 0, 0));

    assertEquals(1, last.version());
    assertArrayEquals(
        new float[] {-RATE * 2, 0.125f - RATE * 2, 0.25f, 0.375f}, TestJob.values(last), 1e-6f);
    assertEquals(1, first.counters().applied());
    assertEquals(1, first.counters().duplicate());
    assertEquals(1, second.counters().applied());
    assertEquals(1, second.counters().duplicate());
  }

  @Test
  void shouldKeepTheUpdateWhenItsWorkerLeaves() {
    TestShard shard = started(0);
    send(shard, update(0, 0, 0, 0, 10, 4, 0, 0, 0));

    shard.membershipChanged(TestJob.of(2, 1, 2));
    ParameterPartition last = send(shard, update(1, 0, 0, 0, 10, 0, 4, 0, 0));

    assertArrayEquals(
        new float[] {-RATE * 2, 0.125f - RATE * 2, 0.25f, 0.375f}, TestJob.values(last), 1e-6f);
  }

  private TestShard started(int incarnation) {
    TestShard shard = job.shard(0, incarnation);
    shard.membershipChanged(TestJob.workers(3));
    return shard;
  }

  private static ParameterPartition send(TestShard shard, GradientPartition update) {
    return (ParameterPartition) shard.handle(update).result();
  }

  private GradientPartition update(
      int worker, long step, int part, long version, int samples, float... values) {
    ExchangeId id = new ExchangeId(TestJob.JOB, worker, 0, 1, step, part);
    return job.gradient(id, version, samples, values);
  }
}
