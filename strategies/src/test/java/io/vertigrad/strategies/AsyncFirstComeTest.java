package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import org.junit.jupiter.api.Test;

class AsyncFirstComeTest extends StrategyContract {

  @Override
  protected String settings() {
    return "{\"name\": \"async\"}";
  }

  @Test
  void shouldRecordStalenessWhenOthersUpdatedInBetween() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);

    ParameterPartition first = parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    ParameterPartition second = parameters(shard, job.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    ParameterPartition third = parameters(shard, job.gradient(0, 1, 0, 1, 1, 1, 1, 1));

    assertEquals(0, first.staleness());
    assertEquals(1, second.staleness());
    assertEquals(1, third.staleness());
    assertEquals(3, third.version());
  }

  @Test
  void shouldWeightByStalenessWhenDampingIsInverse() {
    TestJob job = new TestJob("{\"name\": \"async\", \"damping\": \"inverse\"}", 4, 2, 9, 2);
    TestShard shard = started(job, 2);
    parameters(shard, job.gradient(0, 0, 0, 0, 0, 0, 0, 0));
    parameters(shard, job.gradient(0, 1, 0, 1, 0, 0, 0, 0));

    ParameterPartition old = parameters(shard, job.gradient(1, 0, 0, 0, 3, 6, 9, 12));

    assertEquals(2, old.staleness());
    float[] expected = {-0.1f, 0.125f - 0.2f, 0.25f - 0.3f, 0.375f - 0.4f};
    assertArrayEquals(expected, TestJob.values(old), 1e-6f);
  }

  @Test
  void shouldNotDampStatisticsWhenDampingIsInverse() {
    TestJob job = new TestJob("{\"name\": \"async\", \"damping\": \"inverse\"}", 4, 2, 9, 2);
    TestShard shard = started(job, 2);
    parameters(shard, job.gradient(0, 0, 1, 0, 0, 0));

    ParameterPartition old = parameters(shard, job.gradient(1, 0, 1, 0, 0.25f, 0.25f));

    assertArrayEquals(new float[] {0.25f, 0.375f}, TestJob.values(old));
  }

  @Test
  void shouldLeaveOutAGradientWhenItIsOlderThanTheBound() {
    TestJob job = new TestJob("{\"name\": \"async\", \"bound\": 1}", 4, 0, 9, 2);
    TestShard shard = started(job, 2);
    parameters(shard, job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    float[] before = TestJob.values(parameters(shard, job.gradient(0, 1, 0, 1, 1, 1, 1, 1)));

    ParameterPartition old = parameters(shard, job.gradient(1, 0, 0, 0, 5, 5, 5, 5));

    assertEquals(Outcome.TOO_STALE, old.outcome());
    assertEquals(2, old.staleness());
    assertArrayEquals(before, TestJob.values(old));
    assertEquals(1, shard.counters().tooStale());
  }

  @Test
  void shouldEndAfterStepsTimesWorkersUpdates() {
    assertEquals(400, new TestJob(settings(), 4, 0, 200, 2).lastVersion());
  }

  @Test
  void shouldNameTheKeyWhenASettingIsUnknown() {
    SettingsException e =
        assertThrows(
            SettingsException.class,
            () -> new TestJob("{\"name\": \"async\", \"dampin\": 1}", 4, 0, 1, 1));

    assertEquals("test.json: dampin is not a known key, did you mean \"damping\"?", e.getMessage());
  }
}
