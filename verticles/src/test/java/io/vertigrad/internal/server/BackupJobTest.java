package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.BackupChanged;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.Deque;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole jobs in one JVM, without checkpoints, whose servers go one after the other. */
final class BackupJobTest extends PointsJob {

  private static final int STEPS = 10_000;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp"})
  void shouldTakeEveryStepOnceWhicheverServerGoes(String strategy) {
    String reduction = strategy.equals("sync") ? "{\"reduction\": \"mean\"}" : "{}";
    job.put("steps", STEPS)
        .put("strategy", new JsonObject(reduction).put("name", strategy))
        .put("servers", new JsonObject().put("replicas", 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("suspectMillis", 3_000).put("evictMillis", 10_000);
    deploy(coordinator);
    Deque<String> servers = new ArrayDeque<>();
    servers.add(deploy(new ParameterServerVerticle()));
    servers.add(deploy(new ParameterServerVerticle()));
    deployEvaluatorAndWorkers(2);

    for (int incarnation = 1; incarnation <= 2; incarnation++) {
      awaitBackup(incarnation);
      long before = version();
      await(vertx.undeploy(servers.remove()));
      int promoted = incarnation;
      Awaitility.await().until(() -> happened(event -> isServer(event, promoted)));
      Awaitility.await().until(() -> version() > before);
      servers.add(deploy(new ParameterServerVerticle()));
    }
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    int updates = strategy.equals("sync") ? 1 : 2;
    assertEquals(STEPS * updates, result.getLong("version"));
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
    assertEquals(coordinateAfter(STEPS * updates), lossOf(result), 1e-4);
  }

  @Test
  void shouldGoOnAloneWhenTheBackupGoesAndSaySo() {
    job.put("steps", STEPS)
        .put("strategy", new JsonObject().put("name", "sync").put("reduction", "mean"))
        .put("servers", new JsonObject().put("replicas", 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("suspectMillis", 3_000).put("evictMillis", 10_000);
    deploy(coordinator);
    deploy(new ParameterServerVerticle());
    String backup = deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(2);
    awaitBackup(1);

    await(vertx.undeploy(backup));
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
    BackupChanged last = last(BackupChanged.class);
    assertTrue(!last.complete() && last.reason().contains("server 1"), last.toString());
  }

  private void awaitBackup(int times) {
    Awaitility.await()
        .until(
            () ->
                events.stream()
                        .filter(event -> event instanceof BackupChanged now && now.complete())
                        .count()
                    >= times);
  }

  private long version() {
    return events.stream()
        .filter(ServerProgress.class::isInstance)
        .mapToLong(event -> ((ServerProgress) event).version())
        .max()
        .orElse(0);
  }

  private static boolean isServer(Object event, int incarnation) {
    return event instanceof MemberJoined joined
        && joined.role().equals("server")
        && joined.rank() == 0
        && joined.incarnation() == incarnation;
  }
}
