package io.vertigrad.verticles.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.verticles.fixture.PointsJob;
import io.vertigrad.verticles.fixture.PointsProvider;
import io.vertigrad.verticles.metrics.TrainingEvent.JobEnding;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.server.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs of a million steps that reach what they were asked for long before. */
final class EarlyEndJobTest extends PointsJob {

  private static final long STEPS = 1_000_000;
  private static final List<String> CENTRAL = List.of("sync", "async", "ssp");

  /** All points are classified correctly from the start, so the first test ends the job. */
  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp", "allreduce", "dpsgd", "local", "gossip"})
  void shouldEndInOrderAndTestTheEndWhenTheAccuracyIsReached(String strategy) {
    job.put("stop", new JsonObject().put("accuracy", 99.5));

    JsonObject result = train(strategy);

    long version = result.getLong("version");
    JsonObject stopped = result.getJsonObject("stopped");
    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals("accuracy", stopped.getString("reason"));
    assertEquals(100, stopped.getDouble("value"));
    assertTrue(stopped.getLong("version") <= version && version < STEPS, result::encode);
    assertEquals(version, result.getJsonObject("evaluation").getLong("highestVersion"));
    assertEquals(64, result.getJsonObject("evaluation").getInteger("samples"));
    assertEquals(stopped.getLong("version"), last(JobEnding.class).version());
    if (!strategy.equals("gossip")) {
      assertEquals(version, result.getJsonObject("evaluation").getLong("version"));
    }
    if (strategy.equals("local")) {
      assertEquals(0, version % 10, "where the workers average");
    }
    if (List.of("sync", "allreduce").contains(strategy)) {
      assertEquals(coordinateAfter((int) version), lossOf(result), 1e-3);
      assertEquals(8 * version, result.getLong("samples"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndInOrderWhenTheTimeIsUp(String strategy) {
    job.put("stop", new JsonObject().put("minutes", 0.01));
    job.put("evaluator", new JsonObject().put("every", 100_000));

    JsonObject result = train(strategy);

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals("minutes", result.getJsonObject("stopped").getString("reason"));
    assertEquals(
        result.getLong("version"), result.getJsonObject("evaluation").getLong("highestVersion"));
    assertTrue(lossOf(result) <= PointsProvider.COORDINATE);
    if (CENTRAL.contains(strategy)) {
      assertEquals(
          List.of("finished", "finished"),
          events.stream()
              .filter(MemberLeft.class::isInstance)
              .map(event -> ((MemberLeft) event).reason())
              .toList());
    }
  }

  private JsonObject train(String strategy) {
    job.put("steps", STEPS).put("strategy", new JsonObject().put("name", strategy));
    job.getJsonObject("workers").put("count", 2);
    deploy(coordinator);
    if (CENTRAL.contains(strategy)) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(2);
    return await(coordinator.result());
  }
}
