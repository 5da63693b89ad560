package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.fixture.FakeCoordinator;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests whole jobs in one JVM with pauses that are longer than any member's limit. */
@Tag("slow")
final class PauseJobTest extends PointsJob {

  private static final long LIMIT_MILLIS = 600;
  private static final Duration PAUSE = Duration.ofMillis(2 * LIMIT_MILLIS);
  private static final Duration TWO_REPORTS = Duration.ofMillis(500);

  /** Some eighty a second until the job is resumed, so that the pause comes before the end. */
  private static final long STEPS = 600;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "allreduce"})
  void shouldEndWithTheBitsOfARunThatWasNotPaused(String strategy) {
    CoordinatorVerticle other = new CoordinatorVerticle();
    String id = start(other, strategy, STEPS);
    JsonObject through = await(other.result());
    await(other.stop("once more"));
    await(vertx.undeploy(id));
    events.clear();

    pace(3);
    start(coordinator, strategy, STEPS);
    pause();
    await(vertx.timer(PAUSE.toMillis(), TimeUnit.MILLISECONDS));
    resume();
    release();
    JsonObject paused = ended();

    assertEquals("finished", paused.getString("state"), paused::encode);
    assertEquals(hash(through), hash(paused));
    assertEquals(through.getLong("samples"), paused.getLong("samples"));
    assertTrue(last(JobResumed.class).pausedMillis() >= PAUSE.toMillis());
    assertEquals(List.of(), of(StallFound.class).toList());
    assertEquals(List.of(), of(MemberSuspected.class).toList());
  }

  @ParameterizedTest
  @ValueSource(strings = {"ssp", "gossip"})
  void shouldContinueAfterAPauseLongerThanEveryLimit(String strategy) {
    pace(1);
    start(coordinator, strategy, 1_000_000);
    pause();
    await(vertx.timer(PAUSE.toMillis(), TimeUnit.MILLISECONDS));
    long paused = steps();

    resume();

    Awaitility.await().until(() -> steps() > paused + 100);
    assertEquals(List.of(), of(MemberLeft.class).toList());
    await(coordinator.stop("enough"));
  }

  @Test
  void shouldContinueWithTheMembersThatAreThereAfterAPause() {
    pace(1);
    start(coordinator, "sync", 1_000_000);
    pause();
    long paused = steps();

    await(vertx.undeploy(workers.get(0)));
    deploy(new WorkerVerticle());
    assertEquals(paused, steps());
    resume();

    Awaitility.await()
        .until(() -> happened(e -> e instanceof WorkerProgress w && w.incarnation() == 1));
    assertFalse(ask("stop").containsKey("refused"));
    assertEquals("stopped", await(coordinator.result()).getString("state"));
  }

  @Test
  void shouldStopDuringAPause() {
    pace(1);
    start(coordinator, "allreduce", 1_000_000);
    pause();

    assertFalse(ask("stop").containsKey("refused"));

    assertEquals("stopped", await(coordinator.result()).getString("state"));
    Awaitility.await().until(() -> of(MemberLeft.class).count() == 3);
  }

  /** Pauses a job in the middle and waits until no worker reports another step. */
  private void pause() {
    Awaitility.await().until(() -> steps() > 0);
    assertEquals("paused", ask("pause").getString("state"));
    long[] before = {-1};
    Awaitility.await()
        .pollInterval(TWO_REPORTS)
        .until(() -> before[0] == (before[0] = steps()) && steps() > 0);
  }

  private void resume() {
    assertEquals("running", ask("resume").getString("state"));
    Awaitility.await().until(() -> happened(JobResumed.class::isInstance));
  }

  private long steps() {
    return of(WorkerProgress.class).mapToLong(WorkerProgress::step).max().orElse(0);
  }

  private String start(CoordinatorVerticle by, String strategy, long steps) {
    boolean server = List.of("sync", "async", "ssp").contains(strategy);
    JsonObject settings = new JsonObject().put("name", strategy);
    if (List.of("sync", "ssp").contains(strategy)) {
      settings.put("deadlineMillis", LIMIT_MILLIS);
    }
    job.put("steps", steps).put("strategy", settings);
    job.getJsonObject("workers").put("count", 2);
    job.put(
        "exchange",
        new JsonObject()
            .put("suspectMillis", 3_000)
            .put("deadlineMillis", LIMIT_MILLIS)
            .put("stallMillis", 1_000));
    String id = deploy(by);
    if (server) {
      deploy(new ParameterServerVerticle());
    }
    workers.clear();
    deployEvaluatorAndWorkers(2);
    return id;
  }

  private JsonObject ask(String request) {
    return new FakeCoordinator(vertx, "points").ask(request);
  }

  private <E> Stream<E> of(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast);
  }

  private static String hash(JsonObject result) {
    return result.getJsonObject("evaluation").getString("parametersHash");
  }
}
