package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;

/** A coordinator and members that communicate over a real, local event bus. */
@Timeout(60)
abstract class BusJobFixture {

  final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  final JsonObject job =
      new JsonObject()
          .put("job", "coordination")
          .put("steps", 1_000)
          .put("strategy", new JsonObject().put("name", RoundsProvider.class.getName()))
          .put(
              "workers",
              new JsonObject().put("count", 1).put("sampler", "none").put("waitSeconds", 30))
          .put("evaluator", new JsonObject().put("count", 0))
          .put("exchange", new JsonObject().put("suspectMillis", 300).put("evictMillis", 900));
  Vertx vertx;
  CoordinatorVerticle coordinator;

  @BeforeEach
  void startVertx() {
    vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(8));
    vertx
        .eventBus()
        .<JsonObject>consumer(
            "vertigrad.coordination.events", m -> events.add(TrainingEvent.fromJson(m.body())));
  }

  @AfterEach
  void closeVertx() {
    await(vertx.close());
  }

  /** Shortens the wait for members, for tests in which it runs out. */
  void waitSeconds(int seconds) {
    job.getJsonObject("workers").put("waitSeconds", seconds);
  }

  String deploy() {
    coordinator = new CoordinatorVerticle();
    return await(vertx.deployVerticle(coordinator, new DeploymentOptions().setConfig(job.copy())));
  }

  FakeMember member(Role role) {
    FakeMember member = new FakeMember(job.copy(), role);
    await(vertx.deployVerticle(member));
    return member;
  }

  static void joinBoth(FakeMember server, FakeMember worker) {
    await(server.join());
    await(worker.join());
    await(worker.client.started());
  }

  static long firstRound(Membership membership, int rank) {
    return membership.worker(rank).map(Membership.Member::activeFrom).orElse(Long.MAX_VALUE);
  }

  static List<Long> rounds(List<Membership> proposals, int rank) {
    return proposals.stream()
        .filter(proposal -> proposal.worker(rank).isPresent())
        .map(proposal -> firstRound(proposal, rank))
        .toList();
  }

  static int incarnationOfServer(FakeMember member) {
    return member.client.membership().server(0).map(Membership.Member::incarnation).orElse(-1);
  }

  <E extends TrainingEvent> E event(Class<E> type) {
    return Awaitility.await()
        .until(
            () -> events.stream().filter(type::isInstance).map(type::cast).findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  static String refusal(Future<?> refused) {
    return assertThrows(RuntimeException.class, () -> await(refused)).getMessage();
  }

  static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause().getMessage(), e.getCause());
    } catch (InterruptedException | TimeoutException e) {
      throw new IllegalStateException("no answer in time", e);
    }
  }
}
