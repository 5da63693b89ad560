package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.job.Role;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Strategies in which a worker's steps are not the servers' versions. With a single worker they are
 * deterministic, so the bits show whether its replacement has what compression left out and the
 * state of its optimizer.
 */
@Tag("slow")
final class ReplacedMembersTest extends DisturbedRuns {

  private static final int STEPS = 600;

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
    prepare(new JsonObject(strategy), compression, STEPS, 1);
    job.getJsonObject("checkpoint").put("every", 8);
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
      return ReplacedMembersTest.this.result(coordinator, coordinatorId);
    }
  }
}
