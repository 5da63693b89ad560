package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests whole jobs with two servers, of which each has some of the partitions. All points are
 * equal, and so are all workers: every rule gives the mean.
 */
final class RobustJobTest extends PointsJob {

  private static final int STEPS = 40;
  private static final double RATE = 0.01;

  @ParameterizedTest
  @CsvSource({
    "mean, 0, false",
    "median, 1, false",
    "geometricMedian, 1, false",
    "krum, 1, false",
    "multiKrum, 1, true",
    "centredClipping, 1, false",
    "centredClipping, 1, true"
  })
  void shouldEqualPlainSgdWhenAllWorkersSendTheSame(
      String reduction, int liars, boolean neighbours) {
    JsonObject strategy =
        new JsonObject().put("name", "robust").put("reduction", reduction).put("liars", liars);
    start(neighbours ? strategy.put("neighbours", true) : strategy);

    JsonObject result = ended();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS, result.getLong("version"), result::encode);
    assertEquals(coordinateAfter(STEPS), lossOf(result), 1e-5);
  }

  @Test
  void shouldSendMomentaWhenTheJobAsksForThem() {
    double beta = 0.8;
    start(new JsonObject().put("name", "robust").put("momentum", beta));

    JsonObject result = ended();

    double w = 0;
    double m = 0;
    for (int step = 0; step < STEPS; step++) {
      m = beta * m + (1 - beta) * (w - PointsProvider.COORDINATE);
      w -= RATE * m;
    }
    assertEquals(w, lossOf(result), 1e-5);
  }

  @Test
  void shouldReportHowFarEachWorkerWasWhenARoundHasEnded() {
    start(new JsonObject().put("name", "robust").put("reduction", "krum"));
    ended();

    for (int rank = 0; rank < 5; rank++) {
      String worker = "worker " + rank;
      for (String name : List.of("update.distance", "update.leftOut")) {
        assertTrue(happened(e -> isScalar(e, worker, name)), worker + ": " + name);
      }
      assertTrue(
          happened(
              e ->
                  isScalar(e, worker, "update.cosine")
                      && Math.abs(((ScalarReported) e).value() - 1) < 1e-4),
          worker);
    }
  }

  private static boolean isScalar(TrainingEvent event, String source, String name) {
    return event instanceof ScalarReported scalar
        && scalar.source().equals(source)
        && scalar.name().equals(name);
  }

  private void start(JsonObject strategy) {
    job.put("steps", STEPS).put("strategy", strategy);
    job.put("servers", new JsonObject().put("count", 2));
    job.getJsonObject("exchange").put("partitionElements", 1);
    job.getJsonObject("workers").put("count", 5);
    deploy(coordinator);
    deploy(new ParameterServerVerticle());
    deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(5);
  }
}
