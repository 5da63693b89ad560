package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Engine;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests momentum with each way to combine updates; all points are equal, and so are all workers.
 */
final class MomentumJobTest extends PointsJob {

  private static final int STEPS = 100;
  private static final double RATE = 0.01;
  private static final double MOMENTUM = 0.9;
  private static final double DAMPENING = 0.25;

  /** Starts the engine first, which takes longer than a job waits for its members. */
  @BeforeAll
  static void startBackend() {
    Engine.named("dl4j").describe();
  }

  @ParameterizedTest
  @CsvSource({"sync, local", "ssp, local", "allreduce, local", "dpsgd, local", "dpsgd, averaged"})
  @Tag("slow")
  void shouldMatchHeavyBallMomentumInEveryStrategy(String strategy, String momentum) {
    JsonObject rule = new JsonObject().put("name", strategy);
    if (strategy.equals("dpsgd")) {
      rule.put("momentum", momentum);
    }
    boolean servers = strategy.equals("sync") || strategy.equals("ssp");
    // With bounded staleness the order of two workers is open, but not that of one.
    start(rule, STEPS, strategy.equals("ssp") ? 1 : 2, servers ? 2 : 0);

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(coordinateAfterMomentum(STEPS), lossOf(result), 1e-4);
  }

  private void start(JsonObject strategy, long steps, int count, int servers) {
    job.put("steps", steps).put("strategy", strategy);
    job.getJsonObject("optimizer").put("momentum", MOMENTUM).put("dampening", DAMPENING);
    job.getJsonObject("workers").put("count", count);
    job.getJsonObject("exchange").put("partitionElements", 1);
    if (servers > 1) {
      job.put("servers", new JsonObject().put("count", servers));
    }
    deploy(coordinator);
    for (int i = 0; i < servers; i++) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(count);
  }

  /**
   * Returns {@code w} after {@code v = mu v + (1 - dampening) (w - x); w -= rate v} from 0; the
   * first {@code v} is undampened.
   */
  private static double coordinateAfterMomentum(int steps) {
    double w = 0;
    double v = 0;
    for (int step = 0; step < steps; step++) {
      double gradient = w - PointsProvider.COORDINATE;
      v = step == 0 ? gradient : MOMENTUM * v + (1 - DAMPENING) * gradient;
      w -= RATE * v;
    }
    return w;
  }
}
