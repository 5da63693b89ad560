package io.vertigrad.verticles.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.verticles.metrics.TrainingEvent;
import io.vertigrad.verticles.strategy.Membership;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The coordinator with members that talk to it over a real, local event bus. */
@Timeout(20)
final class CoordinationTest {

  private final List<TrainingEvent> events = new CopyOnWriteArrayList<>();
  private final JsonObject job =
      new JsonObject()
          .put("job", "coordination")
          .put("steps", 1_000)
          .put("strategy", new JsonObject().put("name", "rounds"))
          .put("workers", new JsonObject().put("count", 1).put("waitSeconds", 1))
          .put("evaluator", new JsonObject().put("count", 0))
          .put("exchange", new JsonObject().put("suspectMillis", 100).put("evictMillis", 300));
  private Vertx vertx;
  private CoordinatorVerticle coordinator;

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

  @Test
  void shouldStartEveryoneWhenServersAndWorkersAreThere() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);

    Admission first = await(server.join());
    Admission second = await(worker.join());
    Membership membership = await(worker.client.started());

    assertEquals(new Admission(Role.SERVER, 0, 0), first);
    assertEquals(new Admission(Role.WORKER, 0, 0), second);
    assertEquals(membership, await(server.client.started()));
    assertEquals(List.of(membership), server.proposals);
    assertEquals(new Membership.Member(0, 0, 0), membership.workers().get(0));
    assertEquals(6, event(TrainingEvent.JobStarted.class).parameters());
  }

  @Test
  void shouldNameWhoIsMissingWhenTheJobDoesNotStartInTime() {
    deploy();
    FakeMember worker = member(Role.WORKER);
    await(worker.join());

    JsonObject result = await(coordinator.result());

    assertEquals("failed", result.getString("state"));
    String reason = event(TrainingEvent.JobFailed.class).reason();
    assertTrue(reason.contains("missing server 0; present: worker 0 at 127.0.0.1 pid "), reason);
    assertEquals(reason, result.getString("failure"));
    assertEquals(reason, await(worker.stopped.future()));
  }

  @Test
  void shouldAgreeOnTheFirstRoundOfALatecomerWhenAServerIsAheadOfTheProposal() {
    deploy();
    FakeMember server = member(Role.SERVER);
    server.answer = next -> firstRound(next, 1) > 40 ? OptionalLong.empty() : OptionalLong.of(40);
    running(server, member(Role.WORKER));

    FakeMember latecomer = member(Role.WORKER);
    Admission admission = await(latecomer.join());
    Membership membership = await(latecomer.client.started());

    assertEquals(new Admission(Role.WORKER, 1, 0), admission);
    assertEquals(40 + 8, membership.worker(1).orElseThrow().activeFrom());
    assertEquals(0, membership.worker(0).orElseThrow().activeFrom());
    assertEquals(List.of(4L, 48L), rounds(server.proposals, 1));
  }

  @Test
  void shouldEvictAFrozenWorkerAndLetItBackUnderAHigherIncarnation() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    running(server, worker);
    CountDownLatch evicted = new CountDownLatch(1);
    worker.freezeUntil(evicted);

    TrainingEvent.MemberLeft left = event(TrainingEvent.MemberLeft.class);
    evicted.countDown();
    String why = await(worker.evicted.future());
    Admission again = await(worker.join());
    Membership membership = await(worker.client.started());

    assertEquals(0, event(TrainingEvent.MemberSuspected.class).rank());
    assertTrue(left.reason().matches("silent for [3-9]\\d\\d ms"), left.reason());
    assertEquals(left.reason(), why);
    assertEquals(new Admission(Role.WORKER, 0, 1), again);
    assertEquals(1, membership.worker(0).orElseThrow().incarnation());
  }

  @Test
  void shouldReplaceAFrozenServerUnderItsRankWhenAnotherOneKnocks() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    running(server, worker);
    CountDownLatch over = new CountDownLatch(1);
    server.freezeUntil(over);

    Admission replacement = await(member(Role.SERVER).join());
    Awaitility.await().until(() -> incarnationOfServer(worker) == 1);
    over.countDown();

    assertEquals(new Admission(Role.SERVER, 0, 1), replacement);
    assertTrue(await(server.evicted.future()).startsWith("silent for "));
  }

  @Test
  void shouldNameTheBlockWhenAModelDiffers() {
    deploy();
    await(member(Role.SERVER).join());
    ParameterLayout other =
        new ParameterLayout(List.of(new Block("dense.W", List.of(3, 5), Block.Kind.TRAINABLE)));

    Future<Admission> refused = member(Role.WORKER).client.join(other);

    String message = refusal(refused);
    assertTrue(
        message.contains("block 0: found trainable dense.W [3, 5], expected trainable dense.W"),
        message);
  }

  @Test
  void shouldNameTheSettingWhenAJobFileDiffers() {
    deploy();
    FakeMember stranger = new FakeMember(job.copy().put("steps", 7), Role.WORKER);
    await(vertx.deployVerticle(stranger));

    String message = refusal(stranger.join());

    assertTrue(message.contains("differs in steps: found 7, expected 1000"), message);
  }

  @Test
  void shouldSayWhatToCheckWhenNoCoordinatorAnswers() {
    String message = refusal(member(Role.WORKER).join());

    assertTrue(
        message.startsWith(
            "no coordinator answered on vertigrad.coordination.coordinator within 1 s"),
        message);
  }

  @Test
  void shouldFinishWithTheEvaluationWhenTheLastWorkerHas() {
    job.put("evaluator", new JsonObject().put("count", 1));
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember evaluator = member(Role.EVALUATOR);
    FakeMember worker = member(Role.WORKER);
    JsonObject evaluation = new JsonObject().put("accuracy", 97.5);
    evaluator.result = Future.succeededFuture(evaluation);
    server.result =
        Future.succeededFuture(new JsonObject().put("version", 1_000).put("samples", 128_000));
    await(evaluator.join());
    running(server, worker);

    await(worker.client.leave("finished"));
    JsonObject result = await(coordinator.result());
    await(coordinator.stop("done"));

    assertEquals("finished", result.getString("state"));
    assertEquals(1_000, result.getLong("version"));
    assertEquals(128_000, result.getLong("samples"));
    assertEquals(evaluation, result.getJsonObject("evaluation"));
    assertEquals(1_000, event(TrainingEvent.JobFinished.class).version());
    assertEquals("done", await(server.stopped.future()));
    assertEquals("done", await(evaluator.stopped.future()));
  }

  @Test
  void shouldTellItsMembersWhenTheCoordinatorIsGone() {
    job.getJsonObject("exchange").put("suspectMillis", 100).put("evictMillis", 200);
    String deployment = deploy();
    FakeMember server = member(Role.SERVER);
    await(server.join());
    await(vertx.undeploy(deployment));

    assertEquals("the coordinator was undeployed", await(server.stopped.future()));
  }

  @Test
  void shouldRefuseASecondCoordinatorOfTheSameJob() {
    deploy();

    Future<String> second =
        vertx.deployVerticle(
            new CoordinatorVerticle(), new DeploymentOptions().setConfig(job));

    String message = refusal(second);
    assertTrue(message.startsWith("another coordinator answers on vertigrad.coordination"), message);
  }

  private String deploy() {
    coordinator = new CoordinatorVerticle();
    return await(
        vertx.deployVerticle(coordinator, new DeploymentOptions().setConfig(job.copy())));
  }

  private FakeMember member(Role role) {
    FakeMember member = new FakeMember(job.copy(), role);
    await(vertx.deployVerticle(member));
    return member;
  }

  private static void running(FakeMember server, FakeMember worker) {
    await(server.join());
    await(worker.join());
    await(worker.client.started());
  }

  private static long firstRound(Membership membership, int rank) {
    return membership.worker(rank).map(Membership.Member::activeFrom).orElse(Long.MAX_VALUE);
  }

  private static List<Long> rounds(List<Membership> proposals, int rank) {
    return proposals.stream()
        .filter(proposal -> proposal.worker(rank).isPresent())
        .map(proposal -> firstRound(proposal, rank))
        .toList();
  }

  private static int incarnationOfServer(FakeMember member) {
    return member.client.membership().server(0).map(Membership.Member::incarnation).orElse(-1);
  }

  private <E extends TrainingEvent> E event(Class<E> type) {
    return Awaitility.await()
        .until(
            () -> events.stream().filter(type::isInstance).map(type::cast).findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  private static String refusal(Future<?> refused) {
    return assertThrows(RuntimeException.class, () -> await(refused)).getMessage();
  }

  private static <T> T await(Future<T> future) {
    try {
      return future.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause().getMessage(), e.getCause());
    } catch (InterruptedException | TimeoutException e) {
      throw new IllegalStateException("no answer in time", e);
    }
  }
}
