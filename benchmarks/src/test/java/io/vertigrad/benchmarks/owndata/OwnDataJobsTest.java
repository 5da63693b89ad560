package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.testkit.TestJob;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class OwnDataJobsTest {

  private static final OwnDataOptions OPTIONS = OwnDataOptionsTest.read(Map.of());

  static List<FederatedCase> federated() {
    return FederatedCase.all();
  }

  static List<LiarsCase> liars() {
    return LiarsCase.all();
  }

  static List<JsonObject> reductions() {
    return List.copyOf(RobustRoundBenchmark.strategies().values());
  }

  @ParameterizedTest
  @MethodSource("federated")
  void shouldReadTheJobWhenItIsACellOfThePublishedTable(FederatedCase one) {
    JobConfig job = accepted(one.job(OPTIONS, 7));

    assertEquals(FederatedCase.WORKERS, job.workers().count());
    assertEquals(50, job.steps());
  }

  @ParameterizedTest
  @ValueSource(strings = {"fedavg", "fedbuff"})
  void shouldReadTheJobWhenWorkersDifferInPace(String rule) {
    JobConfig job = accepted(BufferedBenchmark.job(OPTIONS, rule, 0, 5));

    assertEquals(8, job.workers().count());
  }

  @ParameterizedTest
  @MethodSource("liars")
  void shouldConfigureTheStrategyWhenWorkersLie(LiarsCase one) {
    assertTrue(configured(one.strategy()));
  }

  @ParameterizedTest
  @MethodSource("reductions")
  void shouldConfigureTheStrategyWhenItsRoundIsTimed(JsonObject strategy) {
    assertTrue(configured(strategy));
    assertEquals(30, accepted(RobustRoundBenchmark.job(strategy, 30)).steps());
  }

  @Test
  void shouldHaveEachReductionWithEachLieOnceWhenAllAreMeasured() {
    List<String> names = LiarsCase.all().stream().map(LiarsCase::toString).toList();

    assertEquals(35 + 7, names.size());
    assertEquals(names.size(), names.stream().distinct().count());
    assertTrue(names.contains("centredClipping, buckets of 2, a little"));
    assertTrue(names.contains("krum, no liar, alike data"));
  }

  @Test
  void shouldSayWhichShareOfThePublishedSamplesIsTrainedOnWhenItIsShortened() {
    assertEquals(100, FederatedBenchmark.share(OPTIONS), 1e-12);
    assertEquals(
        4,
        FederatedBenchmark.share(OwnDataOptionsTest.read(Map.of("rounds", "10", "epochs", "2"))),
        1e-12);
  }

  private static JobConfig accepted(JsonObject json) {
    JobConfig job = JobConfig.read("job", json);
    StrategyProviders.configure(job, OwnDataJobsTest.class.getClassLoader());
    job.checkModel();
    return job;
  }

  private static boolean configured(JsonObject strategy) {
    return new TestJob(strategy, 8, 0, 4, LiarsCase.WORKERS, 4, 1).lockstep();
  }
}
