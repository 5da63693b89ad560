package io.vertigrad.verticles;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.fixture.DeviceEngine;
import io.vertigrad.testkit.DeviceModel;
import io.vertigrad.testkit.PointsJob;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whole jobs whose models compute on simulated devices, which fail when two threads use them at
 * once.
 */
class DeviceJobTest extends PointsJob {

  @TempDir private Path checkpoints;

  private CoordinatorVerticle running;

  @ParameterizedTest
  @ValueSource(
      strings = {"local", "diloco", "diloco servers", "dpsgd", "allreduce", "allreduce overlap"})
  @Tag("slow")
  void shouldEndWithTheBitsOfStepsInJava(String strategy) {
    String java = hash(train(strategy, 200, false));

    assertEquals(java, hash(train(strategy, 200, true)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"local", "diloco", "diloco servers"})
  @Tag("slow")
  void shouldCopyParametersOnceEachWayPerExchange(String strategy) {
    train(strategy, 200, true);

    List<DeviceModel> trained = DeviceEngine.BUILT.stream().filter(m -> m.gradients > 0).toList();
    assertEquals(2, trained.size());
    for (DeviceModel each : trained) {
      assertEquals(200, each.gradients);
      assertEquals(4, each.parametersUp, "an exchange after 50 steps");
      assertEquals(4, each.parametersDown, "an exchange after 50 steps");
      assertEquals(9, each.transfers(), "besides the optimizer's initial state");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"local", "dpsgd", "diloco servers"})
  @Tag("slow")
  void shouldEndWithTheBitsOfStepsInJavaWhenAWorkerIsReplaced(String strategy) {
    save("java");
    String java = hash(train(strategy, 600, false));
    save("device");
    pace(5);
    start(strategy, 600, true);
    // A step of servers is 50 of a worker.
    int steps = strategy.endsWith("servers") ? 2 : 60;
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> stepsOf(0) >= steps);

    await(vertx.undeploy(workers.get(workers.size() - 2)));
    deploy(new WorkerVerticle());
    release();

    assertEquals(java, hash(finish()));
    assertTrue(DeviceEngine.BUILT.stream().filter(m -> m.gradients > 0).count() >= 3);
  }

  private void save(String run) {
    job.put(
        "checkpoint",
        new JsonObject().put("every", 50).put("directory", checkpoints.resolve(run).toString()));
  }

  private JsonObject train(String strategy, long steps, boolean onDevice) {
    start(strategy, steps, onDevice);
    return finish();
  }

  private void start(String strategy, long steps, boolean onDevice) {
    DeviceEngine.stepOnDevices(onDevice);
    String[] words = strategy.split(" ");
    JsonObject rule = new JsonObject().put("name", words[0]);
    if (words[0].equals("local")) {
      rule.put("every", 50);
    } else if (words[0].equals("diloco")) {
      rule.put("syncEvery", 50);
    }
    boolean servers = strategy.endsWith("servers");
    boolean overlaps = strategy.endsWith("overlap");
    if (servers) {
      rule.put("servers", true);
    }
    job.put("engine", "device")
        .put("steps", steps)
        .put("strategy", rule)
        .put("evaluator", new JsonObject().put("everyEpochs", 1_000))
        .put("optimizer", new JsonObject().put("name", "adam").put("clipNorm", overlaps ? 0 : 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("overlap", overlaps);
    events.clear();
    running = new CoordinatorVerticle();
    deploy(running);
    if (servers) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(2);
  }

  private JsonObject finish() {
    JsonObject result = await(running.result());
    assertEquals("finished", result.getString("state"), result::encode);
    await(running.stop("the test is over"));
    vertx.deploymentIDs().forEach(id -> await(vertx.undeploy(id).otherwiseEmpty()));
    workers.clear();
    return result;
  }

  private static String hash(JsonObject result) {
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  private long stepsOf(int rank) {
    return events.stream()
        .filter(e -> e instanceof WorkerProgress w && w.rank() == rank)
        .mapToLong(e -> ((WorkerProgress) e).step())
        .max()
        .orElse(0);
  }
}
