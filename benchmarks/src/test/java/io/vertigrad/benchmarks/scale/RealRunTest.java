package io.vertigrad.benchmarks.scale;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.internal.membership.CoordinatorLoad;
import io.vertigrad.testkit.PointsJob;
import io.vertigrad.verticles.ParameterServerVerticle;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the simulations with the messages of a whole job on an event bus. */
@Tag("slow")
class RealRunTest extends PointsJob {

  private static final int STEPS = 8;
  private static final int PARAMETERS = 3;

  private final Map<String, Long> sent = new ConcurrentHashMap<>();

  private final Set<Object> seen = ConcurrentHashMap.newKeySet();

  /** Messages between workers by the round of the all-reduce. */
  private final Map<Long, Long> pieces = new ConcurrentHashMap<>();

  @ParameterizedTest
  @ValueSource(ints = {4, 8})
  void shouldSendWhatTheLoadOfTheCoordinatorSends(int workers) {
    train("sync", workers, STEPS);

    List<CoordinatorLoad.Cost> load = CoordinatorLoad.run("sync", workers, 1);
    assertEquals(load.get(0).requests().get("JoinRequest"), sent.get("join"));
    assertEquals(load.get(0).requests().get("ProposalAnswer"), sent.get("first proposal"));
    assertEquals(1, load.get(0).memberships());
    long workersLeave = load.get(load.size() - 1).requests().get("Leave");
    assertEquals(workersLeave, sent.get("leave finished"));
    assertEquals(RoundModel.serverMessages(workers, 1) / 2 * STEPS, sent.get("GradientPartition"));
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 8})
  void shouldSendTheMessagesOfTheRing(int workers) {
    train("allreduce", workers, STEPS);

    long each = new RoundModel(PARAMETERS, 1, 0).ringMessages(workers, PARAMETERS);
    long rounds = pieces.values().stream().filter(count -> count == each).count();
    assertEquals(STEPS, rounds, () -> each + " expected in each of " + pieces);
  }

  private void train(String strategy, int workers, int steps) {
    JsonObject settings = new JsonObject().put("name", strategy);
    if (strategy.equals("allreduce")) {
      settings.put("directBytes", 0).put("checkEvery", 0);
    }
    job.put("strategy", settings).put("steps", steps).remove("exchange");
    job.getJsonObject("workers").put("count", workers).put("batch", 1);
    vertx
        .eventBus()
        .addOutboundInterceptor(
            context -> {
              inspect(context.message().address(), context.body());
              context.next();
            });
    deploy(coordinator);
    if (strategy.equals("sync")) {
      deploy(new ParameterServerVerticle());
    }
    deployEvaluatorAndWorkers(workers);
    assertEquals("finished", await(coordinator.result()).getString("state"));
  }

  /** Counts a message once, however often it is sent again on a busy machine. */
  private void inspect(String address, Object body) {
    if (body instanceof GradientPartition gradient) {
      count("GradientPartition", gradient.id());
    } else if (body instanceof PeerPartition piece && first(List.of(piece.id(), piece.phase()))) {
      pieces.merge(piece.id().step(), 1L, Long::sum);
    } else if (body instanceof JsonObject json && address.endsWith(".coordinator")) {
      String request = json.getString("request");
      boolean finished = "finished".equals(json.getString("reason"));
      count(
          finished ? request + " finished" : request,
          List.of(request, json.getString("token", ""), json.getValue("role", ""), rank(json)));
    } else if (body instanceof JsonObject json
        && json.getValue("propose") instanceof JsonObject next
        && next.getInteger("epoch") == 1) {
      count("first proposal", address);
    }
  }

  private static int rank(JsonObject request) {
    return request.getInteger("rank", -1);
  }

  private void count(String kind, Object message) {
    if (first(List.of(kind, message))) {
      sent.merge(kind, 1L, Long::sum);
    }
  }

  private boolean first(Object message) {
    return seen.add(message);
  }
}
