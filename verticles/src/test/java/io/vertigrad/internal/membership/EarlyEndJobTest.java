package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.testkit.PointsProvider;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests jobs of a million steps that reach their stop condition long before. */
final class EarlyEndJobTest extends PointsJob {

  private static final long STEPS = 1_000_000;
  private static final List<String> CENTRAL = List.of("sync", "async", "ssp");

  /** All points are classified correctly from the start, so the first test ends the job. */
  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp", "allreduce", "dpsgd", "local", "gossip"})
  @Tag("slow")
  void shouldEndEarlyAndTestTheModelWhenTheAccuracyIsReached(String strategy) {
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

  /** The end of the job arrives while a test holds workers, or has just released them. */
  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "allreduce"})
  void shouldEndEarlyWhenTrainingWaitsForTests(String strategy) {
    job.put("stop", new JsonObject().put("accuracy", 99.5));
    job.put("evaluator", new JsonObject().put("blocking", true).put("every", 30));

    JsonObject result = train(strategy);

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(1, result.getJsonObject("stopped").getLong("version"));
    long version = result.getLong("version");
    long last = strategy.equals("async") ? STEPS - 1 : 31;
    assertTrue(version >= 1 && version <= last, result::encode);
    assertEquals(version, result.getJsonObject("evaluation").getLong("version"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  @Tag("slow")
  void shouldEndEarlyWhenTheTimeIsUp(String strategy) {
    job.put("stop", new JsonObject().put("minutes", 0.01));
    job.put("evaluator", new JsonObject().put("every", 100_000));

    JsonObject result = train(strategy);

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals("minutes", result.getJsonObject("stopped").getString("reason"));
    assertEquals(
        result.getLong("version"), result.getJsonObject("evaluation").getLong("highestVersion"));
    assertTrue(lossOf(result) <= PointsProvider.COORDINATE);
    if (CENTRAL.contains(strategy)) {
      // The result may arrive before the last events.
      Awaitility.await().until(() -> happened(JobFinished.class::isInstance));
      assertEquals(
          List.of("finished", "finished"),
          events.stream()
              .filter(MemberLeft.class::isInstance)
              .map(event -> ((MemberLeft) event).reason())
              .toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "dpsgd"})
  void shouldEndEarlyAtATestedVersionWhenTrainingWaitsForTests(String strategy) {
    job.put("stop", new JsonObject().put("accuracy", 99.5));
    job.put("evaluator", new JsonObject().put("every", 20).put("blocking", true));

    JsonObject result = train(strategy);

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(1, result.getJsonObject("stopped").getLong("version"), "of the first test");
    // In async the end releases the held workers, and each goes on until it learns of the end.
    long last = strategy.equals("async") ? STEPS - 1 : 21;
    assertTrue(result.getLong("version") <= last, result::encode);
    assertTrue(events.stream().noneMatch(EvaluationSkipped.class::isInstance));
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
