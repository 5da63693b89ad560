package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.JobFinished;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import io.vertx.junit5.VertxExtension;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(VertxExtension.class)
final class MetricsVerticleTest {

  private static final Addresses STORY = new Addresses("story");
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final String TOKEN = "5ec2e7";

  private final List<JsonObject> deltas = new CopyOnWriteArrayList<>();
  private final List<JsonObject> asked = new CopyOnWriteArrayList<>();
  private Vertx vertx;
  private MetricsVerticle metrics;

  @BeforeEach
  void deploy(Vertx fresh) throws Exception {
    vertx = fresh;
    vertx.eventBus().<JsonObject>consumer(STORY.metrics(), message -> deltas.add(message.body()));
    vertx
        .eventBus()
        .<JsonObject>consumer(
            STORY.coordinator(),
            message -> {
              asked.add(message.body());
              message.reply(new JsonObject().put("state", "running"));
            });
    DeploymentOptions options = new DeploymentOptions().setConfig(RunStory.job().json());
    metrics = new MetricsVerticle(TOKEN, "runs/today");
    await(vertx.deployVerticle(metrics, options));
  }

  @Test
  @Tag("slow")
  void shouldPublishTwoToFourNumberedDeltasASecond() {
    Awaitility.await().atMost(LIMIT).until(() -> deltas.size() >= 7);

    long span = deltas.get(6).getLong("timeMillis") - deltas.get(0).getLong("timeMillis");
    for (int i = 0; i < 7; i++) {
      assertEquals(i + 1, deltas.get(i).getInteger("number"));
      assertEquals(RunMetrics.SCHEMA, deltas.get(i).getInteger("schema"));
    }
    // Six windows of a third of a second; a busy machine may stretch them.
    assertTrue(span >= 6 * 250, "too often: 6 in " + span + " ms");
  }

  @Test
  void shouldAnswerWithASnapshotThatTheNextDeltaExtends() throws Exception {
    RunStory.beginning().forEach(this::publish);
    RunStory.after(10).forEach(this::publish);
    Awaitility.await().atMost(LIMIT).until(() -> hasMembers(ask("snapshot")));

    JsonObject snapshot = ask("snapshot");

    long number = snapshot.getLong("number");
    assertEquals("snapshot", snapshot.getString("kind"));
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> deltas.stream().anyMatch(d -> d.getLong("number") == number + 1));
  }

  @Test
  void shouldReportEndAndFolderOfARunBeforeItsProcessEnds() throws Exception {
    publish(new JobFinished(RunStory.START + 9_000, 200, 51_200));
    JsonObject summary = new JsonObject().put("seconds", 8.5).put("samplesPerSecond", 6_023.5);

    await(metrics.conclude(Optional.of(summary)));

    JsonObject snapshot = ask("snapshot");
    assertEquals("finished", snapshot.getJsonObject("state").getString("phase"));
    assertEquals(8.5, snapshot.getJsonObject("state").getDouble("seconds"));
    assertEquals("runs/today", snapshot.getJsonObject("run").getString("folder"));
    long number = snapshot.getLong("number");
    Awaitility.await()
        .atMost(LIMIT)
        .until(() -> deltas.stream().anyMatch(delta -> delta.getLong("number") == number));
  }

  @ParameterizedTest
  @ValueSource(strings = {"checkpoint", "stop"})
  void shouldForwardCommandsWithTheToken(String action) throws Exception {
    JsonObject answer = control(action, TOKEN);

    assertEquals("running", answer.getString("state"));
    assertEquals(List.of(new JsonObject().put("request", action)), asked);
  }

  @Test
  void shouldForwardTheMemberThatIsToLeave() throws Exception {
    JsonObject drain =
        JsonObject.of("request", "control", "action", "drain", "member", "worker 1")
            .put("token", TOKEN);

    assertEquals("running", request(drain).getString("state"));
    assertEquals(List.of(JsonObject.of("request", "drain", "member", "worker 1")), asked);
  }

  @Test
  void shouldRefuseControlWithoutTokenAndOtherActions() throws Exception {
    assertTrue(control("stop", "5ec2e8").getString("refused").contains("wrong token"));
    assertTrue(control("stop", null).getString("refused").contains("wrong token"));
    assertTrue(control("join", TOKEN).getString("refused").contains("expected action"));
    assertEquals(List.of(), asked);
  }

  @Test
  void shouldRefuseUnknownRequests() throws Exception {
    assertTrue(ask("everything").getString("refused").contains("snapshot"));
    assertTrue(request("just words").getString("refused").contains("snapshot"));
    assertTrue(request(new JsonObject()).getString("refused").contains("snapshot"));
  }

  private void publish(TrainingEvent event) {
    vertx.eventBus().publish(STORY.events(), event.toJson());
  }

  private static boolean hasMembers(JsonObject snapshot) {
    return snapshot.getJsonArray("members").size() == 3;
  }

  private JsonObject ask(String what) throws Exception {
    return request(new JsonObject().put("request", what));
  }

  private JsonObject control(String action, String token) throws Exception {
    return request(
        new JsonObject().put("request", "control").put("action", action).put("token", token));
  }

  private JsonObject request(Object body) throws Exception {
    return await(
        vertx
            .eventBus()
            .<JsonObject>request(STORY.metricsRequests(), body)
            .map(message -> message.body()));
  }

  private static <T> T await(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(20, TimeUnit.SECONDS);
  }
}
