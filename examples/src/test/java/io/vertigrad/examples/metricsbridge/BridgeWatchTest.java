package io.vertigrad.examples.metricsbridge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.dashboard.DashboardVerticle;
import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.job.JobConfig;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Vertx;
import io.vertx.core.http.WebSocket;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

final class BridgeWatchTest {

  /** Lets the other threads run between two collections; a connection outlasts several. */
  private static final long PAUSE_NANOS = 20_000_000;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() {
    vertx.close();
  }

  @Test
  void shouldReceiveARunThroughItsPage() throws Exception {
    JsonObject job = new JsonObject().put("job", "watched");
    job.put("dashboard", new JsonObject().put("port", 0));
    DeploymentOptions options =
        new DeploymentOptions().setConfig(JobConfig.read("test", job).json());
    DashboardVerticle page = new DashboardVerticle();
    CompletableFuture<JsonObject> running = new CompletableFuture<>();

    vertx
        .deployVerticle(new MetricsVerticle(), options)
        .compose(deployed -> vertx.deployVerticle(page, options))
        .compose(
            deployed ->
                new BridgeWatch(vertx, URI.create(page.url()))
                    .follow(delta -> take(delta, running)))
        .onFailure(running::completeExceptionally)
        .onSuccess(
            socket ->
                new EventPublisher(vertx, new Addresses("watched"))
                    .publish(new JobStarted(1, "sync", 2, 1, 1_960, 200, 200)));

    JsonObject delta = running.get(60, TimeUnit.SECONDS);
    assertEquals("watched", delta.getString("job"));
    assertTrue(BridgeWatch.line(delta).contains("running"), BridgeWatch.line(delta));
  }

  /**
   * Vert.x closes an unreferenced client, and the connection it is opening, at a garbage
   * collection.
   */
  @Tag("slow")
  @Test
  void shouldConnectDuringAGarbageCollection() throws Exception {
    JsonObject job = new JsonObject().put("job", "collected");
    job.put("dashboard", new JsonObject().put("port", 0));
    DeploymentOptions options =
        new DeploymentOptions().setConfig(JobConfig.read("test", job).json());
    DashboardVerticle page = new DashboardVerticle();
    vertx
        .deployVerticle(new MetricsVerticle(), options)
        .compose(deployed -> vertx.deployVerticle(page, options))
        .toCompletionStage()
        .toCompletableFuture()
        .get(60, TimeUnit.SECONDS);
    AtomicBoolean connecting = new AtomicBoolean(true);
    Thread collector =
        new Thread(
            () -> {
              while (connecting.get()) {
                System.gc();
                LockSupport.parkNanos(PAUSE_NANOS);
              }
            });
    collector.start();
    try {
      for (int i = 0; i < 3; i++) {
        new BridgeWatch(vertx, URI.create(page.url()))
            .follow(delta -> {})
            .compose(WebSocket::close)
            .toCompletionStage()
            .toCompletableFuture()
            .get(60, TimeUnit.SECONDS);
      }
    } finally {
      connecting.set(false);
      collector.join();
    }
  }

  private static void take(JsonObject delta, CompletableFuture<JsonObject> running) {
    if (delta.getJsonObject("state").getString("phase").equals("running")) {
      running.complete(delta);
    }
  }
}
