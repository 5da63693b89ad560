package io.vertigrad.internal.peer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.fixture.ScatteredPoints;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Jobs without servers that lose workers end with the bits of a job that lost nobody. */
@Tag("slow")
class LostWorkerTest extends PointsJob {

  private static final int WORKERS = 3;

  @TempDir Path folder;

  @ParameterizedTest
  @CsvSource({
    "allreduce, 0, 0, 8000",
    "allreduce, 0.9, 0, 8000",
    "dpsgd, 0, 300, 8000",
    "dpsgd, 0.9, 300, 8000",
    "local, 0.9, 300, 40000"
  })
  void shouldEndWithTheUndisturbedBitsWhenWorkersAreLost(
      String strategy, double momentum, long checkpointEvery, long steps) {
    prepare(strategy, steps);
    job.getJsonObject("optimizer").put("momentum", momentum);
    String undisturbed = undisturbed();
    job.put(
        "checkpoint",
        new JsonObject().put("every", checkpointEvery).put("directory", folder.toString()));

    Crew crew = new Crew();
    Random chance = new Random(steps);
    for (int lost = 0; lost < 3; lost++) {
      long seen = version();
      long until = seen + 400 + chance.nextInt(400);
      Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= until);
      crew.replace(chance.nextInt(WORKERS));
      int joined = lost + 1;
      Awaitility.await()
          .until(
              () ->
                  events.stream()
                          .filter(e -> e instanceof MemberJoined j && j.incarnation() > 0)
                          .count()
                      >= joined);
    }
    JsonObject result = crew.finish();

    assertEquals(undisturbed, hash(result), result::encode);
    assertEquals(checkpointEvery > 0, happened(CheckpointWritten.class::isInstance), "checkpoints");
  }

  /** What error feedback owes is in no other worker's memory. */
  @Test
  void shouldEndWithTheUndisturbedBitsWhenGradientsAreCompressed() {
    prepare("allreduce", 4_000);
    job.getJsonObject("exchange").put("compression", "topk").put("topShare", 0.1);
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", 200).put("directory", folder.toString()));

    Crew crew = new Crew();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 500);
    crew.replace(1);

    assertEquals(undisturbed, hash(crew.finish()));
  }

  /** The first parameters follow from the seed. */
  @Test
  void shouldBeginAgainWhenAReplicaIsLostOfWhichNothingWasKept() {
    prepare("dpsgd", 5_000);
    String undisturbed = undisturbed();

    Crew crew = new Crew();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 500);
    crew.replace(2);

    assertEquals(undisturbed, hash(crew.finish()));
  }

  /** Nobody's memory is left, but what all of them kept is. */
  @ParameterizedTest
  @CsvSource({"allreduce, 300", "dpsgd, 300", "allreduce, 0"})
  void shouldEndWithTheUndisturbedBitsWhenAllWorkersAreLostAtOnce(String strategy, long every) {
    prepare(strategy, 6_000);
    job.getJsonObject("optimizer").put("momentum", 0.9);
    String undisturbed = undisturbed();
    job.put("checkpoint", new JsonObject().put("every", every).put("directory", folder.toString()));

    Crew crew = new Crew();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 700);
    crew.lose();
    crew.join();

    assertEquals(undisturbed, hash(crew.finish()));
  }

  @Test
  void shouldFailNamingWhoWasLostWhenNobodyIsLeftToTakeARank() {
    prepare("allreduce", 1_000_000);
    job.getJsonObject("workers").put("waitSeconds", 3);
    Crew crew = new Crew();
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(() -> version() >= 100);

    crew.lose();
    JsonObject result = await(crew.coordinator.result());

    assertEquals("failed", result.getString("state"), result::encode);
    assertTrue(result.getString("failure").contains("worker 1"), result::encode);
  }

  private void prepare(String strategy, long steps) {
    job.put("steps", steps)
        .put("data", new JsonObject().put("name", ScatteredPoints.class.getName()))
        .put("strategy", new JsonObject().put("name", strategy));
    job.getJsonObject("workers").put("count", WORKERS).put("waitSeconds", 30);
  }

  private String undisturbed() {
    String hash = hash(new Crew().finish());
    events.clear();
    return hash;
  }

  private long version() {
    return events.stream()
        .filter(PeerExchange.class::isInstance)
        .mapToLong(e -> ((PeerExchange) e).version())
        .max()
        .orElse(0);
  }

  private static String hash(JsonObject result) {
    assertEquals("finished", result.getString("state"), result::encode);
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  /** All members of one run. */
  private final class Crew {

    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String coordinatorId = deploy(coordinator);
    private final List<String> ids = new ArrayList<>();

    Crew() {
      deploy(new EvaluatorVerticle());
      join();
    }

    void join() {
      for (int i = 0; i < WORKERS; i++) {
        ids.add(deploy(new WorkerVerticle()));
      }
    }

    void lose() {
      await(Future.all(ids.stream().map(id -> vertx.undeploy(id)).toList()));
      ids.clear();
    }

    void replace(int worker) {
      await(vertx.undeploy(ids.get(worker)));
      ids.set(worker, deploy(new WorkerVerticle()));
    }

    JsonObject finish() {
      JsonObject result = await(coordinator.result());
      await(coordinator.stop("the test is over"));
      await(vertx.undeploy(coordinatorId));
      return result;
    }
  }
}
