package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.dashboard.MetricsVerticle;
import io.vertigrad.job.JobConfig;
import io.vertigrad.training.JobFailedException;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class PagePortTest {

  private static final int START_SECONDS = 20;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void close() {
    Await.result(vertx.close(), START_SECONDS, "the end");
  }

  @Test
  void shouldReportATakenPortAndTheAddressOfThePage() {
    int taken = page(0).getPort();

    URI second = page(taken);

    assertNotEquals(taken, second.getPort());
    assertEquals(
        Optional.of(
            "port %d is taken, perhaps by another run's page: see %s".formatted(taken, second)),
        Dashboard.otherPort(taken, second.toString()));
  }

  @Test
  void shouldReportNothingForAFreePort() {
    URI page = page(0);

    assertEquals(Optional.empty(), Dashboard.otherPort(page.getPort(), page.toString()));
    assertEquals(Optional.empty(), Dashboard.otherPort(0, page.toString()));
  }

  @Test
  void shouldNameTheHostWhereNothingCanListen() {
    JsonObject nowhere = new JsonObject().put("host", "203.0.113.77").put("port", 18977);

    String failure = assertThrows(JobFailedException.class, () -> page(nowhere)).getMessage();

    assertEquals(
        "starting the page: the dashboard cannot listen on 203.0.113.77, port 18977: Cannot assign"
            + " requested address; set dashboard.host and dashboard.port (ui and replay: --host and"
            + " --port), or train with --no-dashboard",
        failure);
  }

  private URI page(int port) {
    return page(new JsonObject().put("port", port));
  }

  private URI page(JsonObject dashboard) {
    JobConfig job = JobConfig.read("test", new JsonObject().put("dashboard", dashboard));
    String url =
        Await.result(
            Dashboard.start(vertx, job, new MetricsVerticle("secret")),
            START_SECONDS,
            "starting the page");
    return URI.create(url);
  }
}
