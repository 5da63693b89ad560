package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.testkit.PointsJob;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
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

  /** The model is the mean of five workers, and an honest one moves as if nobody lied. */
  @Test
  void shouldReportTheLiarByItsNeighboursWhenOneOfARingLies() {
    job.put("steps", STEPS);
    job.put("strategy", new JsonObject().put("name", "lyingGossip"));
    job.getJsonObject("workers").put("count", 5);
    deploy(coordinator);
    deployEvaluatorAndWorkers(5);

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(coordinateAfter(STEPS), lossOf(result), 0.1);
    for (int neighbour : new int[] {2, 4}) {
      assertTrue(
          happened(e -> isFar(e, "worker " + neighbour, "neighbour.3.distance")),
          "worker " + neighbour);
    }
    assertFalse(happened(e -> isFar(e, "worker 0", "neighbour.1.distance")));
    assertFalse(happened(e -> isFar(e, "worker 3", "neighbour.2.distance")));
  }

  private static boolean isFar(TrainingEvent event, String source, String name) {
    return event instanceof ScalarReported scalar
        && scalar.source().equals(source)
        && scalar.name().equals(name)
        && scalar.value() > 3;
  }
}
