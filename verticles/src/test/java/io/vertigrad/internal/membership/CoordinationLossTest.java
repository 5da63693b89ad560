package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests what happens when members or coordinators are lost. */
final class CoordinationLossTest extends BusJobFixture {

  @Test
  @Tag("slow")
  void shouldEvictAStoppedWorkerAndReadmitItWithAHigherIncarnation() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    joinBoth(server, worker);
    CountDownLatch evicted = new CountDownLatch(1);
    worker.freezeUntil(evicted);

    TrainingEvent.MemberLeft left = event(TrainingEvent.MemberLeft.class);
    evicted.countDown();
    String why = await(worker.evicted.future());
    Admission again = await(worker.join());
    Membership membership = await(worker.client.started());

    assertEquals(0, event(TrainingEvent.MemberSuspected.class).rank());
    assertTrue(
        left.reason().matches("silent for (9\\d\\d|\\d{4,5}) ms(; \\d+ ms more do not count, .*)?"),
        left.reason());
    assertEquals(left.reason(), why);
    assertEquals(new Admission(Role.WORKER, 0, 1), again);
    assertEquals(1, membership.worker(0).orElseThrow().incarnation());
  }

  /** The event loop of the worker is blocked by something else, such as a slow request. */
  @Test
  @Tag("slow")
  void shouldNotEvictAWorkerWhoseEventLoopIsBlockedForThreeEvictionLimits() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    joinBoth(server, worker);
    CountDownLatch over = new CountDownLatch(1);
    worker.freezeUntil(over);

    await(vertx.timer(2_700, TimeUnit.MILLISECONDS));
    over.countDown();
    await(vertx.timer(900, TimeUnit.MILLISECONDS));

    assertTrue(events.stream().noneMatch(TrainingEvent.MemberLeft.class::isInstance));
  }

  @Test
  @Tag("slow")
  void shouldReplaceAStoppedServerWhenAnotherOneJoins() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    joinBoth(server, worker);
    CountDownLatch over = new CountDownLatch(1);
    server.freezeUntil(over);

    Admission replacement = await(member(Role.SERVER).join());
    assertTrue(await(worker.evicted.future()).contains("went back to version 0"));
    await(worker.join());
    Awaitility.await().until(() -> incarnationOfServer(worker) == 1);
    over.countDown();

    assertEquals(new Admission(Role.SERVER, 0, 1), replacement);
    assertTrue(await(server.evicted.future()).startsWith("silent for "));
  }

  /** The worker's own limits must not pass before the job's limit, workers.waitSeconds. */
  @Test
  void shouldStopAWorkersClockWhileTheJobWaitsForAnotherServer() {
    deploy();
    FakeMember server = member(Role.SERVER);
    FakeMember worker = member(Role.WORKER);
    joinBoth(server, worker);
    assertClockRuns(worker);

    await(server.client.leave(LeaveReason.read("broke down")));
    Awaitility.await().until(() -> worker.client.membership().servers().isEmpty());

    long still = worker.client.clock().getAsLong();
    await(vertx.timer(300, TimeUnit.MILLISECONDS));
    assertEquals(still, worker.client.clock().getAsLong());
    FakeMember other = member(Role.SERVER);
    await(other.join());
    await(worker.evicted.future());
    await(worker.join());
    await(worker.client.started());
    assertClockRuns(worker);
  }

  /** Without a coordinator nobody knows who is missing; the limit is exchange.orphanSeconds. */
  @Test
  void shouldStopAMembersClockWhileTheCoordinatorDoesNotAnswer() {
    job.getJsonObject("exchange").put("suspectMillis", 100).put("evictMillis", 200);
    ControlAnswer admitted =
        new ControlAnswer.Admitted(
            JobPhase.WAITING,
            0,
            new Admission(Role.SERVER, 0, 0),
            "run",
            false,
            OptionalLong.empty());
    MessageConsumer<JsonObject> fake = answering(admitted);
    FakeMember server = member(Role.SERVER);
    await(server.join());
    assertClockRuns(server);

    await(fake.unregister());
    Awaitility.await().until(() -> !runs(server));
    answering(admitted);

    Awaitility.await().until(() -> runs(server));
  }

  @Test
  void shouldEndTheChoiceOfAVersionWhenTheMembershipChanges() {
    List<FakeMember> workers = startWithTwoWorkers();
    Future<Choice> choice = choose(workers, 0);

    await(workers.get(1).client.leave(LeaveReason.failed("broke down")));

    await(choice.otherwiseEmpty());
    assertEquals(GroupChangedException.class, choice.cause().getClass());
    assertEquals("membership epoch 2", choice.cause().getMessage());
  }

  @Test
  void shouldNameTheWorkerThatReportsNoCandidates() {
    job.getJsonObject("exchange")
        .put("suspectMillis", 100)
        .put("evictMillis", 200)
        .put("deadlineMillis", 300);
    List<FakeMember> workers = startWithTwoWorkers();

    assertEquals(
        "worker 0: no version chosen for membership epoch 1 within 300 ms: the coordinator at"
            + " membership epoch 1 waits for worker 1. See the logs there, or raise"
            + " exchange.deadlineMillis",
        refusal(choose(workers, 0)));
  }

  @Test
  @Tag("slow")
  void shouldGetTheSameChoiceWhenAnAnswerWasLost() {
    List<FakeMember> workers = startWithTwoWorkers();
    AtomicBoolean lost = new AtomicBoolean();
    vertx
        .eventBus()
        .addOutboundInterceptor(
            delivery -> {
              boolean choice =
                  delivery.body() instanceof JsonObject json && json.containsKey("chosen");
              if (!choice || lost.getAndSet(true)) {
                delivery.next();
              }
            });

    List<Future<Choice>> choices = List.of(choose(workers, 0), choose(workers, 1));

    assertEquals(Optional.of(RunVersion.BEGINNING), await(choices.get(0)).from());
    assertEquals(await(choices.get(0)), await(choices.get(1)));
    assertTrue(lost.get());
  }

  @Test
  void shouldGiveAllWorkersTheSameDivisionWhenTheLastHasAsked() {
    job.getJsonObject("workers")
        .put("balance", "speed")
        .put("batch", 4)
        .put("sampler", "distributed");
    List<FakeMember> workers = startWithTwoWorkers();

    List<Future<BatchDivision>> divisions = List.of(divide(workers, 0), divide(workers, 1));

    assertEquals(new BatchDivision(0, 40, List.of(4, 4)), await(divisions.get(0)));
    assertEquals(await(divisions.get(0)), await(divisions.get(1)));
  }

  @Test
  void shouldEndTheWaitForADivisionWhenTheMembershipChanges() {
    job.getJsonObject("workers")
        .put("balance", "speed")
        .put("batch", 4)
        .put("sampler", "distributed");
    List<FakeMember> workers = startWithTwoWorkers();
    Future<BatchDivision> division = divide(workers, 0);
    // Otherwise it may ask after the change, of which it is told anyway.
    await(workers.get(0).begun());

    await(workers.get(1).client.leave(LeaveReason.failed("broke down")));

    await(division.otherwiseEmpty());
    assertEquals(GroupChangedException.class, division.cause().getClass());
    assertEquals(new BatchDivision(0, 40, List.of(4, 4)), await(divide(workers, 0)));
  }

  private static Future<BatchDivision> divide(List<FakeMember> workers, int rank) {
    Admission from = new Admission(Role.WORKER, rank, 0);
    return workers.get(rank).client.division(from, 20, 1_000, Optional.empty());
  }

  private List<FakeMember> startWithTwoWorkers() {
    job.getJsonObject("workers").put("count", 2);
    deploy();
    FakeMember server = member(Role.SERVER);
    List<FakeMember> workers = List.of(member(Role.WORKER), member(Role.WORKER));
    await(server.join());
    workers.forEach(worker -> await(worker.join()));
    workers.forEach(worker -> await(worker.client.started()));
    return workers;
  }

  private static Future<Choice> choose(List<FakeMember> workers, int rank) {
    CoordinatorClient client = workers.get(rank).client;
    return client.choice(
        new Candidates(
            new Admission(Role.WORKER, rank, 0),
            client.membership().epoch(),
            Rule.COMMON_STATE,
            Optional.empty(),
            List.of(RunVersion.BEGINNING),
            List.of(),
            false,
            true));
  }

  private MessageConsumer<JsonObject> answering(ControlAnswer answer) {
    return vertx
        .eventBus()
        .consumer("vertigrad.coordination.coordinator", m -> m.reply(ControlCodec.write(answer)));
  }

  private void assertClockRuns(FakeMember member) {
    assertTrue(runs(member), "the clock of a member that waits for nobody stands still");
  }

  private boolean runs(FakeMember member) {
    long before = member.client.clock().getAsLong();
    await(vertx.timer(20, TimeUnit.MILLISECONDS));
    return member.client.clock().getAsLong() > before;
  }

  @Test
  void shouldReportTheLostCoordinatorToMembers() {
    job.getJsonObject("exchange").put("suspectMillis", 100).put("evictMillis", 200);
    String deployment = deploy();
    FakeMember server = member(Role.SERVER);
    await(server.join());
    await(vertx.undeploy(deployment));

    assertEquals("the coordinator was undeployed", await(server.stopped.future()));
  }

  @Test
  @Tag("slow")
  void shouldReportTheLostCoordinatorAfterTheOrphanLimit() {
    job.getJsonObject("exchange")
        .put("suspectMillis", 100)
        .put("evictMillis", 200)
        .put("orphanSeconds", 3);
    long began = System.nanoTime();
    Admission admission = new Admission(Role.SERVER, 0, 0);
    MessageConsumer<JsonObject> fake =
        vertx.eventBus().consumer("vertigrad.coordination.coordinator");
    ControlAnswer admitted =
        new ControlAnswer.Admitted(
            JobPhase.WAITING, 0, admission, "run", false, OptionalLong.empty());
    fake.handler(m -> m.reply(ControlCodec.write(admitted)));
    FakeMember server = member(Role.SERVER);
    await(server.join());
    await(fake.unregister());

    String why = await(server.stopped.future());

    assertTrue(why.contains("has not answered on vertigrad.coordination.coordinator for "), why);
    long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    assertTrue(waited >= 3_000, "it gave up after %d ms".formatted(waited));
  }

  @Test
  void shouldFreeThePlaceWhenAMemberLeavesWhileJoining() {
    deploy();
    FakeMember worker = member(Role.WORKER);
    Future<Admission> joining = worker.join();

    await(worker.client.leave(LeaveReason.read("changed its mind")));

    assertTrue(refusal(joining).startsWith("left while it joined"), joining::toString);
    assertEquals(0, event(TrainingEvent.MemberLeft.class).rank());
  }

  @Test
  void shouldRefuseASecondJoinOfOneMemberUntilItHasLeft() {
    deploy();
    FakeMember worker = member(Role.WORKER);
    Future<Admission> first = worker.join();

    String refused = refusal(worker.join());

    assertTrue(refused.startsWith("expected a join from outside of the job"), refused);
    assertEquals(0, await(first).rank());
    assertTrue(refusal(worker.join()).endsWith("not Member"));
    await(worker.client.leave(LeaveReason.read("joins again")));
    assertEquals(1, await(worker.join()).incarnation());
  }
}
