package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.fixture.ScatteredPoints;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.io.TempDir;

/** Runs whose members are replaced, and that are compared with an undisturbed run. */
abstract class DisturbedRuns extends PointsJob {

  @TempDir Path folder;

  /** Uses small steps, because large ones would reach the same bits from other parameters, too. */
  final void prepare(JsonObject strategy, String compression, int steps, int workers) {
    job.put("steps", steps).put("strategy", strategy).put("run", new JsonObject().put("id", "one"));
    job.put("data", new JsonObject().put("name", ScatteredPoints.class.getName()));
    job.getJsonObject("optimizer").put("learningRate", 1e-4).put("momentum", 0.9);
    job.getJsonObject("workers").put("count", workers).put("waitSeconds", 30);
    job.getJsonObject("exchange")
        .put("compression", compression)
        .put("suspectMillis", 1_000)
        .put("evictMillis", 10_000);
    job.put("checkpoint", new JsonObject().put("directory", folder.resolve("one").toString()));
  }

  static void awaitSoon(Callable<Boolean> condition) {
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(condition);
  }

  static String hash(JsonObject result) {
    assertEquals("finished", result.getString("state"), result::encode);
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  /** Waits for the end of a run, and removes its coordinator. */
  final JsonObject result(CoordinatorVerticle coordinator, String deployment) {
    JsonObject result = await(coordinator.result());
    await(coordinator.stop("the run is over"));
    await(vertx.undeploy(deployment));
    return result;
  }
}
