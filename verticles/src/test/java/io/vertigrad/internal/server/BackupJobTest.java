package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.BackupChanged;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.json.JsonObject;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests whole jobs in one JVM without checkpoints, whose servers leave one after the other. */
final class BackupJobTest extends PointsJob {

  private static final int STEPS = 1_000;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "async", "ssp"})
  @Tag("slow")
  void shouldTakeEveryStepOnceWhicheverServerGoes(String strategy) {
    String reduction = strategy.equals("sync") ? "{\"reduction\": \"mean\"}" : "{}";
    job.put("steps", STEPS)
        .put("strategy", new JsonObject(reduction).put("name", strategy))
        .put("servers", new JsonObject().put("replicas", 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("suspectMillis", 3_000).put("evictMillis", 10_000);
    pace(5);
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
      awaitSoon(() -> happened(event -> isServer(event, promoted)));
      awaitSoon(() -> version() > before);
      servers.add(deploy(new ParameterServerVerticle()));
    }
    release();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    int updates = strategy.equals("sync") ? 1 : 2;
    assertEquals(STEPS * updates, result.getLong("version"));
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
    assertEquals(coordinateAfter(STEPS * updates), lossOf(result), 1e-4);
  }

  @Test
  @Tag("slow")
  void shouldGoOnAloneWhenTheBackupGoesAndSaySo() {
    job.put("steps", STEPS)
        .put("strategy", new JsonObject().put("name", "sync").put("reduction", "mean"))
        .put("servers", new JsonObject().put("replicas", 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("suspectMillis", 3_000).put("evictMillis", 10_000);
    pace(5);
    deploy(coordinator);
    deploy(new ParameterServerVerticle());
    String backup = deploy(new ParameterServerVerticle());
    deployEvaluatorAndWorkers(2);
    awaitBackup(1);

    await(vertx.undeploy(backup));
    release();
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
    BackupChanged last = last(BackupChanged.class);
    assertTrue(!last.complete() && last.reason().contains("server 1"), last.toString());
  }

  /** Without checkpoints, only the remaining server's memory holds the model. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  @Tag("slow")
  void shouldRepeatNothingWhenAnEmptyServerIsQuickerThanTheSurvivorAfterAResume(int lost) {
    job.put("steps", STEPS)
        .put("strategy", new JsonObject().put("name", "sync").put("reduction", "mean"))
        .put("servers", new JsonObject().put("replicas", 1));
    job.getJsonObject("workers").put("count", 2);
    job.getJsonObject("exchange").put("suspectMillis", 3_000).put("evictMillis", 10_000);
    pace(5);
    String first = deploy(coordinator);
    List<String> servers = new ArrayList<>();
    servers.add(deploy(new ParameterServerVerticle()));
    servers.add(deploy(new ParameterServerVerticle()));
    deployEvaluatorAndWorkers(2);
    awaitBackup(1);
    awaitSoon(() -> version() > 0);

    AtomicBoolean emptyJoined = new AtomicBoolean();
    vertx.eventBus().addOutboundInterceptor(sent -> pass(sent, emptyJoined));
    await(vertx.undeploy(first));
    await(vertx.undeploy(servers.get(lost)));
    long before = version();
    events.clear();
    job.put("run", new JsonObject().put("id", "points").put("resumes", 1));
    CoordinatorVerticle second = new CoordinatorVerticle();
    deploy(second);
    deploy(new ParameterServerVerticle());
    emptyJoined.set(true);
    release();
    JsonObject result = await(second.result());

    assertEquals("finished", result.getString("state"), result::encode);
    assertEquals(STEPS * 2 * 4, result.getLong("samples"));
    assertEquals(coordinateAfter(STEPS), lossOf(result), 1e-4);
    // The empty server reported version 0 before it gave up its place.
    assertTrue(
        events.stream()
            .filter(ServerProgress.class::isInstance)
            .mapToLong(event -> ((ServerProgress) event).version())
            .allMatch(version -> version == 0 || version >= before),
        "nobody went back");
    assertFalse(happened(ShardRolledBack.class::isInstance));
  }

  /** Drops stop messages, and an old server's joins until the empty server has joined. */
  private static void pass(DeliveryContext<Object> sent, AtomicBoolean emptyJoined) {
    boolean control =
        sent.message().body() instanceof JsonObject body
            && (body.containsKey("stop")
                || "join".equals(body.getString("request"))
                    && body.containsKey("before")
                    && "server".equals(body.getString("role"))
                    && !emptyJoined.get());
    if (!control) {
      sent.next();
    }
  }

  private void awaitBackup(int times) {
    awaitSoon(
        () ->
            events.stream()
                    .filter(event -> event instanceof BackupChanged now && now.complete())
                    .count()
                >= times);
  }

  private static void awaitSoon(Callable<Boolean> condition) {
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(condition);
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
        && joined.role() == Role.SERVER
        && joined.rank() == 0
        && joined.incarnation() == incarnation;
  }
}
