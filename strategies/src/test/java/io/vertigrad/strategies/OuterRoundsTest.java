package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.testkit.StrategyContract;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The job's last version is that of the contract, because each version is one local step. */
class OuterRoundsTest extends StrategyContract {

  private static final String QUORUM =
      "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 1, \"quorum\": 2}";

  @Override
  protected String settings() {
    return "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 1}";
  }

  /** The same contract where some pseudo-gradients close a round. */
  @Nested
  class WithQuorum extends StrategyContract {

    @Override
    protected String settings() {
      return QUORUM;
    }
  }

  @Test
  void shouldWeighBySamples() {
    TestJob job = job(2);
    TestShard shard = started(job, 2);
    shard.handle(job.gradient(id(0, 0), 0, 30, 4, 0, 0, 0));
    shard.handle(job.gradient(id(1, 0), 0, 10, 0, 4, 0, 0));

    assertArrayEquals(
        new float[] {-0.3f, 0.125f - 0.1f, 0.25f, 0.375f}, job.parameters(shard, 0), 1e-6f);
  }

  @Test
  void shouldAnswerALateUpdateAtOnceAndMergeItInTheNextStep() {
    TestJob job = withQuorum();
    TestShard shard = afterOneRound(job);

    ParameterPartition late = parameters(shard, job.gradient(id(2, 0), 0, 40, 0, 0, 8, 0));
    assertEquals(Outcome.APPLIED, late.outcome());
    assertEquals(1, late.version());
    assertEquals(1, late.staleness());
    float[] between = job.parameters(shard, 0);
    assertArrayEquals(new float[] {0, 0.125f, 0.25f, 0.375f}, between);
    shard.handle(job.gradient(id(0, 1), 1, 20, 4, 0, 0, 0));
    assertEquals(1, shard.version(), "the late one does not count to the quorum");
    shard.handle(job.gradient(id(1, 1), 1, 20, 0, 4, 0, 0));

    assertEquals(2, shard.version());
    assertArrayEquals(
        new float[] {-0.1f, 0.125f - 0.1f, 0.25f - 0.4f, 0.375f}, job.parameters(shard, 0), 1e-6f);
    assertEquals(5, shard.counters().applied());
    assertEquals(0, shard.counters().late());
  }

  @Test
  void shouldMergeARepeatedLateUpdateOnceAfterARestart() {
    TestJob job = withQuorum();
    TestShard first = afterOneRound(job);
    parameters(first, job.gradient(id(2, 0), 0, 40, 0, 0, 8, 0));
    TestShard second = job.shard(0, 1);

    second.restoreFrom(first);
    second.membershipChanged(TestJob.workers(3));
    ParameterPartition again = parameters(second, job.gradient(id(2, 0), 0, 40, 0, 0, 8, 0));
    second.handle(job.gradient(id(0, 1), 1, 20, 4, 0, 0, 0));
    second.handle(job.gradient(id(1, 1), 1, 20, 0, 4, 0, 0));

    assertEquals(Outcome.DUPLICATE, again.outcome());
    assertArrayEquals(
        new float[] {-0.1f, 0.125f - 0.1f, 0.25f - 0.4f, 0.375f}, job.parameters(second, 0), 1e-6f);
  }

  @Test
  void shouldKeepALateUpdateWhenItsRoundIsDropped() {
    TestJob job = withQuorum();
    TestShard shard = afterOneRound(job);
    parameters(shard, job.gradient(id(2, 0), 0, 40, 0, 0, 8, 0));
    Future<Frame> waiting = shard.handle(job.gradient(id(0, 1), 1, 20, 9, 9, 9, 9));

    job.clock.advanceMillis(50_001);
    shard.tick(job.clock.getAsLong());
    assertTrue(waiting.isComplete());
    shard.handle(job.gradient(id(0, 1), 1, 20, 4, 0, 0, 0));
    shard.handle(job.gradient(id(1, 1), 1, 20, 0, 4, 0, 0));

    assertArrayEquals(
        new float[] {-0.1f, 0.125f - 0.1f, 0.25f - 0.4f, 0.375f}, job.parameters(shard, 0), 1e-6f);
  }

  @Test
  void shouldStayOpenForTheGraceUnlessAllHaveSent() {
    TestJob job = new TestJob(QUORUM.replace("}", ", \"graceMillis\": 300}"), 4, 0, 12, 3);
    TestShard shard = started(job, 3);
    shard.handle(job.gradient(0, 0, 0, 0, 1, 1, 1, 1));
    Future<Frame> second = shard.handle(job.gradient(1, 0, 0, 0, 1, 1, 1, 1));
    assertFalse(second.isComplete());

    shard.handle(job.gradient(2, 0, 0, 0, 1, 1, 1, 1));
    assertTrue(second.isComplete());
    shard.handle(job.gradient(0, 1, 0, 1, 1, 1, 1, 1));
    job.clock.advanceMillis(200);
    second = shard.handle(job.gradient(1, 1, 0, 1, 1, 1, 1, 1));
    job.clock.advanceMillis(299);
    shard.tick(job.clock.getAsLong());
    assertFalse(second.isComplete());
    job.clock.advanceMillis(1);
    shard.tick(job.clock.getAsLong());

    assertTrue(second.isComplete());
    assertEquals(2, shard.version());
  }

  @Test
  void shouldStepWithTheOuterOptimizerAndCountSynchronisations() {
    JobConfig job =
        job("{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 30}", "{\"steps\": 100}");
    StrategyFactory strategy = StrategyProviders.configure(job, getClass().getClassLoader());

    OptimizerConfig outer = strategy.optimizer(job);
    assertEquals("nesterov", outer.name());
    assertEquals(0.7, outer.learningRate());
    assertEquals(0.9, outer.momentum());
    assertEquals(30, strategy.traits().localSteps());
    assertEquals(4, strategy.traits().lastVersion(100, 8));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "\"quorum\": 2; {}; strategy.quorum is 2 without servers, expected \"servers\": true, or 0",
        "\"servers\": true, \"graceMillis\": 5; {}; strategy.graceMillis is 5 without a quorum",
        "\"servers\": true, \"fragments\": 2; {}; strategy.fragments is 2, expected 1 with servers",
        "\"servers\": true, \"fragmentSyncDelay\": 3; {}; strategy.fragmentSyncDelay is 3, expected 0",
        "\"servers\": true, \"fragmentUpdateAlpha\": 0.5; {}; strategy.fragmentUpdateAlpha is 0.5",
        "\"servers\": true; {\"exchange\": {\"overlap\": true}}; exchange.overlap is true with",
        "\"servers\": true; {\"data\": {\"name\": \"stream\"}}; strategy.servers is true with data set"
      })
  void shouldRefuseIncompatibleOptions(String keys, String job, String message) {
    String strategy = "{\"name\": \"diloco\", %s}".formatted(keys);

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () -> StrategyProviders.configure(job(strategy, job), getClass().getClassLoader()));

    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }

  private static JobConfig job(String strategy, String rest) {
    JsonObject json = new JsonObject(rest).put("strategy", new JsonObject(strategy));
    return JobConfig.read("test.json", json);
  }

  private static TestJob withQuorum() {
    return new TestJob(QUORUM, 4, 0, 12, 3);
  }

  /** Returns a shard in whose first round workers 0 and 1 have sent nothing but zeros. */
  private TestShard afterOneRound(TestJob job) {
    TestShard shard = started(job, 3);
    shard.handle(job.gradient(0, 0, 0, 0, 0, 0, 0, 0));
    shard.handle(job.gradient(1, 0, 0, 0, 0, 0, 0, 0));
    assertEquals(1, shard.version());
    return shard;
  }

  private static ExchangeId id(int worker, long step) {
    return new ExchangeId(TestJob.JOB, worker, 0, 1, step, 0);
  }
}
