package io.vertigrad.internal.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReplicaRuleTest {

  @Test
  void shouldAcceptStrategiesWhoseReplicasAgree() {
    assertEquals(1, ReplicaRule.of(job("{'name': 'allreduce'}", 7, 3)).traits().agreesEvery());
    assertEquals(
        5, ReplicaRule.of(job("{'name': 'local', 'every': 5}", 20, 10)).traits().agreesEvery());
  }

  @ParameterizedTest
  @CsvSource({
    "sync, beside servers",
    "async, beside servers",
    "dpsgd, never agree on one model",
    "gossip, never agree on one model"
  })
  void shouldRefuseOtherStrategiesWithTheReason(String name, String reason) {
    assertRefused(job("{'name': '%s'}".formatted(name), 20, 10), reason);
  }

  @Test
  void shouldRefuseToTestOrEndBetweenTwoAverages() {
    String local = "{'name': 'local', 'every': 8}";

    assertRefused(job(local, 20, 8), "steps is 20, expected a multiple of 8");
    assertRefused(job(local, 24, 10), "evaluator.every is 10, expected a multiple of 8");
  }

  private static void assertRefused(JobConfig job, String part) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> ReplicaRule.of(job));
    assertTrue(refused.getMessage().contains(part), refused.getMessage());
  }

  private static JobConfig job(String strategy, long steps, long every) {
    return JobConfig.read(
        "test",
        new JsonObject("{'pipeline': {'stages': 2, 'replicas': 2}}".replace('\'', '"'))
            .put("strategy", new JsonObject(strategy.replace('\'', '"')))
            .put("steps", steps)
            .put("evaluator", new JsonObject().put("every", every)));
  }
}
