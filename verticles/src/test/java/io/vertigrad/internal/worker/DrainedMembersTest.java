package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberDraining;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.run.UpdateLedger;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertigrad.verticles.EvaluatorVerticle;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertigrad.verticles.WorkerVerticle;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Members that are asked to leave hand their place over: the job ends with the bits of an
 * undisturbed one, and no gradient is computed twice. The host in its job file makes a member look
 * as if it were in a process of its own.
 */
@Tag("slow")
final class DrainedMembersTest extends DisturbedRuns {

  private static final int STEPS = 400;
  private static final String LEAVES = "127.0.0.2";
  private static final String SUCCEEDS = "127.0.0.3";

  /** How often each gradient was computed, by member and step. */
  private final Map<String, Integer> computed = new ConcurrentHashMap<>();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"name\": \"sync\"} | none | 2 | 2 | 600",
        "{\"name\": \"sync\"} | topk | 2 | 1 | 600",
        "{\"name\": \"sync\"} | none | 2 | 1 | 0",
        "{\"name\": \"dpsgd\"} | none | 2 | 0 | 0",
        "{\"name\": \"async\"} | topk | 1 | 1 | 600",
        "{\"name\": \"ssp\"} | int8 | 1 | 2 | 600",
        "{\"name\": \"diloco\", \"servers\": true, \"syncEvery\": 2} | int8 | 2 | 1 | 600",
        "{\"name\": \"allreduce\"} | none | 3 | 0 | 600",
        "{\"name\": \"allreduce\"} | topk | 3 | 0 | 600",
        "{\"name\": \"dpsgd\"} | none | 3 | 0 | 600",
        "{\"name\": \"local\"} | none | 3 | 0 | 600",
        "{\"name\": \"diloco\", \"syncEvery\": 20, \"fragments\": 2, \"fragmentSyncDelay\": 7}"
            + " | int8 | 3 | 0 | 600",
      })
  void shouldEndWithTheUndisturbedBitsWhenMembersHandTheirPlacesOver(
      String strategy, String compression, int workers, int servers, double checkpointSeconds) {
    prepare(new JsonObject(strategy), compression, workers, servers, checkpointSeconds);
    String undisturbed = hash(new Members(workers, servers).result());
    job.getJsonObject("checkpoint").put("directory", folder.resolve("drained").toString());
    job.put("run", new JsonObject().put("id", "drained")).put("timeline", true);
    vertx.eventBus().<JsonObject>consumer("vertigrad.points.timeline", m -> count(m.body()));
    pace(2);
    events.clear();
    Members members = new Members(workers, servers);

    awaitSoon(() -> version() >= 20);
    members.succeed(Role.WORKER, new WorkerVerticle());
    if (servers > 0) {
      long reached = version();
      awaitSoon(() -> version() >= reached + 10);
      members.succeed(Role.SERVER, new ParameterServerVerticle());
    }
    long handedOver = version();
    awaitSoon(() -> version() >= handedOver + 10);
    release();
    JsonObject result = members.result();

    assertEquals(undisturbed, hash(result), result::encode);
    assertEquals(
        Map.of(),
        computedAgain(),
        () -> "computed more than once; " + of(MemberLeft.class).toList());
    assertEquals(
        1 + Math.min(1, servers),
        of(MemberLeft.class)
            .filter(left -> !left.finished() && !left.reason().isEmpty())
            .filter(left -> left.incarnation() == 0)
            .filter(left -> left.timeMillis() <= last(MemberJoined.class).timeMillis())
            .count(),
        () -> "only those that were asked left: " + of(MemberLeft.class).toList());
    UpdateLedger ledger = new UpdateLedger();
    events.forEach(ledger::apply);
    assertEquals(List.of(), ledger.problems());
    assertEquals(0, ledger.rolledBack());
  }

  private void prepare(
      JsonObject strategy, String compression, int workers, int servers, double seconds) {
    prepare(strategy, compression, STEPS, workers);
    job.put("servers", new JsonObject().put("count", Math.max(1, servers)));
    job.getJsonObject("checkpoint").put("seconds", seconds);
  }

  private void count(JsonObject spans) {
    int compute = spans.getJsonArray("names").getList().indexOf("compute");
    JsonArray rows = spans.getJsonArray("spans");
    for (int i = 0; i < rows.size(); i += 4) {
      if (rows.getInteger(i) == compute) {
        computed.merge(spans.getString("member") + " " + rows.getLong(i + 3), 1, Integer::sum);
      }
    }
  }

  private Map<String, Integer> computedAgain() {
    assertTrue(computed.size() > 10, "the timeline has gradients");
    computed.values().removeIf(times -> times == 1);
    return Map.copyOf(computed);
  }

  private <E extends TrainingEvent> Stream<E> of(Class<E> type) {
    return events.stream().filter(type::isInstance).map(type::cast);
  }

  private long version() {
    return events.stream()
        .mapToLong(
            event ->
                event instanceof ServerProgress server
                    ? server.version()
                    : event instanceof PeerExchange peer ? peer.version() : 0)
        .max()
        .orElse(0);
  }

  /** The members of one run; the first of each role is in a process of its own. */
  private final class Members {

    private final CoordinatorVerticle coordinator = new CoordinatorVerticle();
    private final String coordinatorId = DrainedMembersTest.this.deploy(coordinator);

    Members(int workers, int servers) {
      for (int rank = 0; rank < servers; rank++) {
        deploy(new ParameterServerVerticle(), rank == 0 ? "127.0.0.4" : "127.0.0.1");
      }
      DrainedMembersTest.this.deploy(new EvaluatorVerticle());
      for (int rank = 0; rank < workers; rank++) {
        deploy(new WorkerVerticle(), rank == 0 ? LEAVES : "127.0.0.1");
      }
    }

    /** Has the first member of a role succeeded by this one. */
    void succeed(Role role, Deployable successor) {
      String host = role == Role.SERVER ? "127.0.0.4" : LEAVES;
      JsonObject answer =
          await(
                  vertx
                      .eventBus()
                      .<JsonObject>request(
                          "vertigrad.points.coordinator",
                          JsonObject.of("request", "drain", "node", node(host))))
              .body();
      assertEquals("running", answer.getString("state"), answer::encode);
      deploy(successor, SUCCEEDS);

      awaitSoon(
          () ->
              happened(
                  e -> e instanceof MemberJoined j && j.role() == role && j.incarnation() == 1));
      assertEquals(
          List.of("waits for a successor, until then it goes on", "goes to " + node(SUCCEEDS)),
          of(MemberDraining.class)
              .filter(event -> event.role() == role)
              .map(MemberDraining::place)
              .toList());
    }

    private String node(String host) {
      return "%s pid %d".formatted(host, ProcessHandle.current().pid());
    }

    private void deploy(Deployable verticle, String host) {
      JsonObject own = job.copy().put("cluster", JsonObject.of("host", host));
      await(vertx.deployVerticle(verticle, new DeploymentOptions().setConfig(own)));
    }

    JsonObject result() {
      return DrainedMembersTest.this.result(coordinator, coordinatorId);
    }
  }
}
