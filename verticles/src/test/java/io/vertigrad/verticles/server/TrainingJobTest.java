package io.vertigrad.verticles.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.verticles.fixture.PointsJob;
import io.vertigrad.verticles.fixture.PointsProvider;
import io.vertigrad.verticles.metrics.TrainingEvent.CheckpointWritten;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberJoined;
import io.vertigrad.verticles.metrics.TrainingEvent.MemberLeft;
import io.vertigrad.verticles.metrics.TrainingEvent.ServerProgress;
import io.vertigrad.verticles.worker.WorkerVerticle;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole jobs in one JVM: coordinator, servers, workers and evaluator on a real, local bus. */
final class TrainingJobTest extends PointsJob {

  @TempDir Path folder;
  private final AtomicReference<Context> loop = new AtomicReference<>();

  @Test
  void shouldReachTheClosedFormWhenTwoWorkersShareRounds() {
    train(200, new JsonObject().put("name", "sync").put("reduction", "mean"));

    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(200, result.getLong("version"));
    assertEquals(200 * 2 * 4, result.getLong("samples"));
    assertEquals(coordinateAfter(200), lossOf(result), 1e-4);
  }

  /** As the stock launcher deploys them: nobody has counted the 64 samples before. */
  @Test
  void shouldTakeWholePassesWhenEachMemberCountsTheSamplesItself() {
    job.put("epochs", 3).put("strategy", new JsonObject().put("name", "sync"));
    deployAll(null);

    JsonObject result = await(coordinator.result());

    assertEquals(3 * 64 / (2 * 4), result.getLong("version"), result::encode);
    assertEquals(3 * 64, result.getLong("samples"));
    assertEquals(coordinateAfter(24), lossOf(result), 1e-4);
  }

  @Test
  void shouldSpreadPartitionsOverTwoShardsWhenThereAreTwoServers() {
    job.put("servers", new JsonObject().put("count", 2));
    job.getJsonObject("exchange").put("partitionElements", 1);
    train(100, new JsonObject().put("name", "sync").put("reduction", "mean"));

    JsonObject result = await(coordinator.result());

    assertEquals(coordinateAfter(100), lossOf(result), 1e-4, result::encode);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  @Tag("slow")
  void shouldGoOnFromTheCheckpointWhenAServerIsReplaced(int servers) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    job.put(
        "servers",
        new JsonObject()
            .put("count", servers)
            .put("checkpointEvery", 50)
            .put("checkpointDirectory", folder.toString()));
    String server = train(10_000, new JsonObject().put("name", "sync").put("reduction", "mean"));
    Awaitility.await().until(() -> versionOfServer() > 100);

    await(vertx.undeploy(server));
    deploy(new ParameterServerVerticle());
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(10_000, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
    assertTrue(events.stream().anyMatch(e -> e instanceof CheckpointWritten c && c.version() > 0));
    assertTrue(
        events.stream()
            .anyMatch(event -> event instanceof ServerProgress p && p.incarnation() == 1));
  }

  @Test
  @Tag("slow")
  void shouldFinishAlthoughAWorkerIsReplacedDuringTheRun() {
    train(10_000, new JsonObject().put("name", "sync").put("reduction", "mean"));
    Awaitility.await().until(() -> versionOfServer() > 100);

    await(vertx.undeploy(workers.get(1)));
    deploy(new WorkerVerticle());
    Awaitility.await()
        .until(
            () ->
                events.stream().anyMatch(e -> e instanceof MemberJoined j && j.incarnation() == 1));
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(10_000, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
  }

  @Test
  @Tag("slow")
  void shouldGoOnFromItsOwnMemoryWhenAFrozenServerComesBack() {
    train(10_000, new JsonObject().put("name", "sync").put("reduction", "mean"), spy());
    Awaitility.await().until(() -> versionOfServer() > 100);
    CountDownLatch evicted = new CountDownLatch(1);
    loop.get().runOnContext(frozen -> awaitLatch(evicted));

    Awaitility.await().until(() -> events.stream().anyMatch(MemberLeft.class::isInstance));
    evicted.countDown();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(10_000 * 2 * 4, result.getLong("samples"));
  }

  @ParameterizedTest
  @ValueSource(longs = {50, 1_000_000})
  @Tag("slow")
  void shouldPassOverTheLostRoundsWhenOneOfTwoServersCrashed(long every) {
    job.getJsonObject("exchange").put("partitionElements", 1);
    job.put(
        "servers",
        new JsonObject()
            .put("count", 2)
            .put("checkpointEvery", every)
            .put("checkpointDirectory", folder.toString()));
    train(10_000, new JsonObject().put("name", "sync").put("reduction", "mean"), spy());
    Awaitility.await().until(() -> versionOfServer() > 100);
    CountDownLatch over = new CountDownLatch(1);
    loop.get().runOnContext(crashed -> awaitLatch(over));

    deploy(new ParameterServerVerticle());
    JsonObject result = await(coordinator.result());
    over.countDown();

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(10_000, result.getLong("version"));
    assertEquals(PointsProvider.COORDINATE, lossOf(result), 1e-3);
  }

  /** A server whose event loop can be reached. */
  private Deployable spy() {
    ParameterServerVerticle server = new ParameterServerVerticle();
    return context -> {
      loop.set(context);
      return server.deploy(context);
    };
  }

  /** Deploys everything; gives back the deployment of the last server. */
  private String train(long steps, JsonObject strategy) {
    return train(steps, strategy, null);
  }

  private String train(long steps, JsonObject strategy, Deployable otherServer) {
    job.put("steps", steps).put("strategy", strategy);
    return deployAll(otherServer);
  }

  private String deployAll(Deployable otherServer) {
    deploy(coordinator);
    String server = "";
    int servers = job.getJsonObject("servers", new JsonObject()).getInteger("count", 1);
    for (int i = 0; i < servers; i++) {
      server = deploy(i > 0 || otherServer == null ? new ParameterServerVerticle() : otherServer);
    }
    deployEvaluatorAndWorkers(2);
    return server;
  }

  private static void awaitLatch(CountDownLatch latch) {
    try {
      latch.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private long versionOfServer() {
    return events.stream()
        .filter(ServerProgress.class::isInstance)
        .mapToLong(event -> ((ServerProgress) event).version())
        .max()
        .orElse(0);
  }
}
