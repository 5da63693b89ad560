package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.verticles.CoordinatorVerticle;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests how members join, start, are refused and finish. */
final class CoordinationTest extends BusJobFixture {

  @Test
  void shouldStartAllWhenServersAndWorkersAreThere() {
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
  @Tag("slow")
  void shouldNameTheMissingMembersWhenTheJobDoesNotStartInTime() {
    waitSeconds(1);
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
  void shouldAgreeOnALaterFirstRoundWhenAServerIsAheadOfTheProposal() {
    deploy();
    FakeMember server = member(Role.SERVER);
    server.answer = next -> firstRound(next, 1) > 40 ? OptionalLong.empty() : OptionalLong.of(40);
    joinBoth(server, member(Role.WORKER));

    FakeMember latecomer = member(Role.WORKER);
    Admission admission = await(latecomer.join());
    Membership membership = await(latecomer.client.started());

    assertEquals(new Admission(Role.WORKER, 1, 0), admission);
    assertEquals(40 + 8, membership.worker(1).orElseThrow().activeFrom());
    assertEquals(0, membership.worker(0).orElseThrow().activeFrom());
    assertEquals(List.of(4L, 48L), rounds(server.proposals, 1));
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
  @Tag("slow")
  void shouldReportWhatToCheckWhenNoCoordinatorAnswers() {
    waitSeconds(1);
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
    EvaluationResult evaluation =
        new EvaluationResult(1_000, 1_000, 64, 0.1, 97.5, 0, 0, "0123456789abcdef", "");
    evaluator.evaluation = Future.succeededFuture(evaluation);
    server.counters =
        Future.succeededFuture(
            new ServerStatus(1_000, 128_000, false, 0, Optional.empty(), Optional.empty()));
    await(evaluator.join());
    joinBoth(server, worker);

    await(worker.client.leave(LeaveReason.read("finished")));
    JsonObject result = await(coordinator.result());
    await(coordinator.stop("done"));

    assertEquals("finished", result.getString("state"));
    assertEquals(1_000, result.getLong("version"));
    assertEquals(128_000, result.getLong("samples"));
    assertEquals(ControlCodec.write(evaluation), result.getJsonObject("evaluation"));
    assertEquals(1_000, event(TrainingEvent.JobFinished.class).version());
    assertEquals("done", await(server.stopped.future()));
    assertEquals("done", await(evaluator.stopped.future()));
  }

  @Test
  @Tag("slow")
  void shouldReportTheLastCountersOfEveryServerBeforeTheEnd() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    Promise<MemberStatus> late = Promise.promise();
    server.counters = late.future();
    joinBoth(server, worker);
    vertx.eventBus().publish("vertigrad.coordination.events", counters(1_084).toJson());

    await(worker.client.leave(LeaveReason.read("finished")));
    await(vertx.timer(1_200, TimeUnit.MILLISECONDS));
    late.complete(
        new ServerStatus(1_000, 0, false, 0, Optional.empty(), Optional.of(counters(1_200))));
    JsonObject result = await(coordinator.result());

    assertFalse(result.containsKey("silent"), result.encode());
    event(TrainingEvent.JobFinished.class);
    List<Long> applied =
        events.stream()
            .takeWhile(event -> !(event instanceof TrainingEvent.JobFinished))
            .filter(ServerProgress.class::isInstance)
            .map(event -> ((ServerProgress) event).applied())
            .toList();
    assertEquals(List.of(1_084L, 1_200L), applied);
  }

  @Test
  void shouldNameAServerThatDoesNotReportItsLastCounters() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    server.counters = Future.failedFuture("the disk is full");
    joinBoth(server, worker);

    await(worker.client.leave(LeaveReason.read("finished")));
    JsonObject result = await(coordinator.result());

    assertEquals("finished", result.getString("state"));
    assertEquals(new JsonArray().add("server 0"), result.getJsonArray("silent"));
  }

  private static ServerProgress counters(long applied) {
    return new ServerProgress(0, 0, 0, 1_000, 128_000, applied, 0, 0, 0, 0);
  }

  @Test
  void shouldRefuseASecondCoordinatorOfTheSameJob() throws Exception {
    deploy();
    CoordinatorVerticle rival = new CoordinatorVerticle();

    Future<String> second = vertx.deployVerticle(rival, new DeploymentOptions().setConfig(job));

    String message = refusal(second);
    assertTrue(
        message.startsWith("another coordinator answers on vertigrad.coordination"), message);
    await(rival.stop("it was refused"));
  }
}
