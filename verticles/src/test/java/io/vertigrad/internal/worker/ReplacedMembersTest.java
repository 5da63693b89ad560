package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.fixture.ScatteredPoints;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Strategies in which a worker's steps are not the servers' versions. With a single worker they are
 * deterministic, so the bits show whether its replacement has what compression left out and the
 * state of its optimizer.
 */
@Tag("slow")
final class ReplacedMembersTest extends PointsJob {

  private static final int STEPS = 600;

  @TempDir private Path folder;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"name\": \"async\"} | topk",
        "{\"name\": \"ssp\"} | int8",
        "{\"name\": \"sync\", \"quorum\": 1} | topk",
        "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 2, \"quorum\": 1} | int8"
      })
  void shouldEndWithTheUndisturbedBitsWhenWorkerAndServerAreReplaced(
      String strategy, String compression) throws IOException {
    prepare(new JsonObject(strategy), compression);
    String undisturbed = hash(new Members().result());
    job.getJsonObject("checkpoint").put("directory", folder.resolve("disturbed").toString());
    job.put("run", new JsonObject().put("id", "disturbed"));
    pace(2);
    events.clear();
    Members members = new Members();

    awaitSoon(() -> version() >= 20);
    await(vertx.undeploy(members.worker));
    deploy(new WorkerVerticle());
    awaitSoon(() -> happened(e -> joined(e, Role.WORKER, 1)) && checkpoints() >= 3);
    long reached = version();
    await(vertx.undeploy(members.server));
    deleteNewestCheckpoint();
    deploy(new ParameterServerVerticle());
    awaitSoon(() -> happened(e -> joined(e, Role.WORKER, 2)) && version() > reached);
    release();
    JsonObject result = members.result();

    assertEquals(undisturbed, hash(result), result::encode);
  }

  /** Uses small steps, because large ones would reach the same bits from other parameters, too. */
  private void prepare(JsonObject strategy, String compression) {
    job.put("steps", STEPS).put("strategy", strategy).put("run", new JsonObject().put("id", "one"));
    job.put("data", new JsonObject().put("name", ScatteredPoints.class.getName()));
    job.getJsonObject("optimizer").put("learningRate", 1e-4).put("momentum", 0.9);
    job.getJsonObject("workers").put("count", 1).put("waitSeconds", 30);
    job.getJsonObject("exchange")
        .put("compression", compression)
        .put("suspectMillis", 1_000)
        .put("evictMillis", 10_000);
    job.put(
        "checkpoint",
        new JsonObject().put("every", 8).put("directory", folder.resolve("one").toString()));
  }

  /** The server wrote its last version when it left in order; a killed one would not have. */
  private void deleteNewestCheckpoint() throws IOException {
    try (Stream<Path> files = Files.list(folder.resolve("disturbed"))) {
      List<Path> checkpoints =
          files
              .filter(file -> file.getFileName().toString().startsWith("shard-0-"))
              .sorted(Comparator.comparing(Path::toString))
              .toList();
      assertTrue(checkpoints.size() > 1, checkpoints::toString);
      Files.delete(checkpoints.get(checkpoints.size() - 1));
    }
  }

  private static boolean joined(Object event, Role role, int incarnation) {
    return event instanceof MemberJoined joined
        && joined.role() == role
        && joined.incarnation() == incarnation;
  }

  private long checkpoints() {
    return events.stream().filter(CheckpointWritten.class::isInstance).count();
  }

  private long version() {
    return events.stream()
        .filter(ServerProgress.class::isInstance)
        .mapToLong(event -> ((ServerProgress) event).version())
        .max()
        .orElse(0);
  }

  private static void awaitSoon(Callable<Boolean> condition) {
    Awaitility.await().atMost(30, TimeUnit.SECONDS).until(condition);
  }

  private static String hash(JsonObject result) {
    assertEquals("finished", result.getString("state"), result::encode);
    return result.getJsonObject("evaluation").getString("parametersHash");
  }

  /** The members of one run. */
  private final class Members {

    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String coordinatorId = deploy(coordinator);
    private final String server = deploy(new ParameterServerVerticle());
    private final String worker;

    Members() {
      deploy(new EvaluatorVerticle());
      worker = deploy(new WorkerVerticle());
    }

    JsonObject result() {
      JsonObject result = await(coordinator.result());
      await(coordinator.stop("the run is over"));
      await(vertx.undeploy(coordinatorId));
      return result;
    }
  }
}
