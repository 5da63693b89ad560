package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests workers that take several steps between two synchronisations with servers. */
class LocalStepsJobTest extends PointsJob {

  /** With outer steps of rate 1, workers that see the same data end as after steps of their own. */
  @ParameterizedTest
  @CsvSource({"30, 10, 0, 3", "33, 10, 0, 4", "30, 7, 2, 5", "12, 1, 0, 12", "5, 8, 0, 1"})
  void shouldEqualTheRunWithOwnSteps(int steps, int every, int quorum, long versions) {
    job.put("steps", steps)
        .put(
            "strategy",
            new JsonObject()
                .put("name", "diloco")
                .put("servers", true)
                .put("syncEvery", every)
                .put("quorum", quorum)
                .put("outerLearningRate", 1)
                .put("outerMomentum", 0));
    job.getJsonObject("workers").put("count", 2);
    deploy(coordinator);
    deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(2);

    JsonObject result = await(coordinator.result());

    assertEquals(versions, result.getLong("version"), result.encode());
    assertEquals(coordinateAfter(steps), lossOf(result), 1e-5, result.encode());
  }
}
