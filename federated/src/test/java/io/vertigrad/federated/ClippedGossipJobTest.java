package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.testkit.PointsJob;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests whole jobs. All points are equal, and so are all workers: nobody is clipped. */
final class ClippedGossipJobTest extends PointsJob {

  private static final int STEPS = 40;

  @ParameterizedTest
  @CsvSource({"ring, 3", "complete, 4"})
  void shouldEqualPlainSgdWhenAllWorkersAreEqual(String topology, int count) {
    job.put("steps", STEPS);
    job.put("strategy", new JsonObject().put("name", "clippedGossip").put("topology", topology));
    job.getJsonObject("workers").put("count", count);
    deploy(coordinator);
    deployEvaluatorAndWorkers(count);

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"), result::encode);
    assertEquals(coordinateAfter(STEPS), lossOf(result), 1e-5);
  }
}
