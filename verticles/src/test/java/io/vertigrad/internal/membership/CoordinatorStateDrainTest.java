package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberDraining;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.Decision.HandOver;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.Decision.Succeed;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Tests members that are asked to leave while the job goes on. */
final class CoordinatorStateDrainTest {

  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);
  private static final Admission FIRST = new Admission(Role.WORKER, 0, 0);
  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);
  private static final Admission AGAIN = new Admission(Role.WORKER, 1, 1);

  private CoordinatorStateFixture fixture = started(1, CoordinatorStateFixture.config(1, 2, true));

  /** Every member runs in a process of its own; there are two workers. */
  private static CoordinatorStateFixture started(int servers, CoordinatorConfig config) {
    CoordinatorStateFixture job = new CoordinatorStateFixture(config);
    if (servers > 0) {
      job.joinFrom("server 0", Role.SERVER, MemberStatus.NONE);
    }
    job.joinFrom("worker 0", Role.WORKER, MemberStatus.NONE);
    job.joinFrom("worker 1", Role.WORKER, MemberStatus.NONE);
    if (servers > 0) {
      job.acceptAll();
    }
    return job;
  }

  private static CoordinatorStateFixture withoutServers() {
    return started(0, CoordinatorStateFixture.config(0, 2, true));
  }

  @Test
  void shouldKeepAWorkerUntilASuccessorIsReady() {
    assertTrue(fixture.coordinator.drain("worker 1"));
    assertTrue(fixture.coordinator.drain("worker 1"), "it repeats its request");
    fixture.advance(5_000);
    assertEquals(List.of(new Succeed("worker 1")), fixture.all(Succeed.class));
    assertEquals(List.of(), fixture.all(HandOver.class));

    assertEquals(Optional.of("worker 1"), standsBy("next", Role.WORKER));

    assertEquals(List.of(new HandOver(SECOND, false)), fixture.all(HandOver.class));
    assertEquals(List.of(), fixture.all(Hold.class), "the others go on");
    assertEquals(List.of("waits for a successor, until then it goes on", "goes to next"), places());
  }

  @Test
  void shouldGiveThePlaceToTheSuccessorWithoutAStall() {
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    fixture.leave(SECOND);
    fixture.acceptAll();

    assertEquals(Optional.empty(), standsBy("next", Role.WORKER), "the place is free");
    assertEquals(AGAIN, fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE));
    fixture.acceptAll();

    assertTrue(fixture.published().hasWorker(1, 1));
    assertEquals(List.of(), fixture.events(StallFound.class));
    assertFalse(fixture.last(Hold.class).pause().holds(), "nobody is held any more");
    assertFalse(fixture.coordinator.drain("worker 1"), "that process has no member");
  }

  @Test
  void shouldHoldAllWorkersWhileAServerHandsItsShardOver() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    assertEquals(new HandOver(SERVER, true), fixture.last(HandOver.class));
    assertTrue(fixture.last(Hold.class).pause().holds());

    fixture.coordinator.handedOver(SERVER, server(7));
    fixture.leave(SERVER);
    Admission successor = fixture.joinFrom("next", Role.SERVER, MemberStatus.STARTING);
    fixture.heartbeat(successor, server(7));
    assertTrue(fixture.last(Hold.class).pause().holds(), "until the servers have agreed");
    fixture.acceptAll();

    assertEquals(new Admission(Role.SERVER, 0, 1), successor);
    assertEquals(2, fixture.published().workers().size(), "no worker has to join again");
    assertEquals(List.of(SERVER.rank()), left());
    assertFalse(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldRepeatStepsWhenTheSuccessorOfAServerLacksThem() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    fixture.coordinator.handedOver(SERVER, server(7));
    fixture.leave(SERVER);
    fixture.joinFrom("next", Role.SERVER, MemberStatus.STARTING);
    fixture.heartbeat(new Admission(Role.SERVER, 0, 1), server(5));

    assertEquals(1, fixture.last(Decision.Propose.class).next().servers().size());
    assertTrue(fixture.coordinator.isHere(FIRST), "rank 0 is no rank that servers remember");
    CoordinatorStateFixture remembering = started(1, remembering());
    remembering.coordinator.drain("server 0");
    remembering.coordinator.standsBy(
        remembering.requestFrom("next", Role.SERVER, MemberStatus.STARTING));
    remembering.coordinator.handedOver(SERVER, server(7));
    remembering.leave(SERVER);
    remembering.joinFrom("next", Role.SERVER, MemberStatus.STARTING);
    remembering.heartbeat(new Admission(Role.SERVER, 0, 1), server(5));
    assertFalse(remembering.coordinator.isHere(FIRST));
  }

  @Test
  void shouldHoldAllWorkersWhenAWorkerHoldsTheModel() {
    fixture = withoutServers();
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    assertEquals(new HandOver(SECOND, true), fixture.last(HandOver.class));

    fixture.coordinator.handedOver(SECOND, MemberStatus.NONE);
    fixture.leave(SECOND);
    assertTrue(fixture.last(Hold.class).pause().holds());
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);

    assertFalse(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldLetAMemberWithoutASuccessorLeaveInTime() {
    fixture.coordinator.drain("worker 1");
    fixture.advance(18_500);
    assertEquals(List.of(), fixture.all(HandOver.class));
    fixture.advance(300);

    assertEquals(List.of(new HandOver(SECOND, false)), fixture.all(HandOver.class));
    assertEquals("stays empty, because no successor came within 18 s", places().get(1));
    fixture.leave(SECOND);
    assertEquals(1, fixture.events(StallFound.class).size(), "now the worker is missing");
    fixture.acceptAll();
    fixture.advance(400);
    assertEquals(new Decision.Adopt(FIRST, 1), fixture.last(Decision.Adopt.class));
  }

  @Test
  void shouldHandOverOnePlaceAfterTheOther() {
    fixture = withoutServers();
    fixture.coordinator.drain("worker 0");
    fixture.coordinator.drain("worker 1");
    assertEquals(Optional.of("worker 0"), standsBy("next", Role.WORKER));
    assertEquals(Optional.of("worker 1"), standsBy("other", Role.WORKER));
    assertEquals(List.of(new HandOver(FIRST, true)), fixture.all(HandOver.class));

    fixture.coordinator.handedOver(FIRST, MemberStatus.NONE);
    fixture.leave(FIRST);
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);

    assertEquals(new HandOver(SECOND, true), fixture.last(HandOver.class));
    assertTrue(fixture.last(Hold.class).pause().holds(), "the workers are held again");
  }

  @Test
  void shouldWaitForAnotherSuccessorWhenOneDiesInTheQueue() {
    fixture.coordinator.drain("server 0");
    standsBy("next server", Role.SERVER);
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    fixture.advance(1_500);
    fixture.coordinator.handedOver(SERVER, server(0));
    fixture.leave(SERVER);
    fixture.joinFrom("next server", Role.SERVER, MemberStatus.NONE);
    fixture.acceptAll();
    assertEquals(List.of(new HandOver(SERVER, true)), fixture.all(HandOver.class));

    assertEquals(Optional.of("worker 1"), standsBy("other", Role.WORKER));

    assertEquals(new HandOver(SECOND, false), fixture.last(HandOver.class));
    assertEquals("goes to other", places().get(places().size() - 1));
  }

  @Test
  void shouldNotHandOverToAProcessThatHasGotAnotherPlace() {
    fixture = withoutServers();
    fixture.coordinator.drain("worker 0");
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    standsBy("other", Role.WORKER);
    fixture.coordinator.handedOver(FIRST, MemberStatus.NONE);
    fixture.leave(FIRST);

    assertEquals(Optional.empty(), standsBy("other", Role.WORKER), "the first one has died");
    fixture.joinFrom("other", Role.WORKER, MemberStatus.NONE);
    fixture.advance(100);

    assertTrue(fixture.published().hasWorker(0, 1));
    assertEquals(List.of(new HandOver(FIRST, true)), fixture.all(HandOver.class));
  }

  @Test
  void shouldLetTwoMembersWithoutSuccessorsLeaveInTime() {
    fixture = withoutServers();
    fixture.coordinator.drain("worker 0");
    fixture.coordinator.drain("worker 1");
    fixture.advance(18_800);
    fixture.coordinator.handedOver(FIRST, MemberStatus.NONE);
    fixture.leave(FIRST);
    fixture.advance(500);

    assertEquals(
        List.of(new HandOver(FIRST, true), new HandOver(SECOND, true)),
        fixture.all(HandOver.class));
    assertTrue(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldTryAgainWhenAMemberCouldNotHandOver() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    fixture.coordinator.notHandedOver(SERVER);
    assertFalse(fixture.last(Hold.class).pause().holds(), "training goes on");

    fixture.advance(1_000);
    standsBy("next", Role.SERVER);
    assertEquals(1, fixture.all(HandOver.class).size());
    fixture.advance(1_000);
    standsBy("next", Role.SERVER);

    assertEquals(2, fixture.all(HandOver.class).size());
    assertTrue(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldHoldWorkersWhileTheSuccessorStarts() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    fixture.coordinator.handedOver(SERVER, server(7));
    fixture.leave(SERVER);
    Admission successor = fixture.joinFrom("next", Role.SERVER, MemberStatus.STARTING);
    fixture.setStatus(successor, MemberStatus.STARTING);

    fixture.advance(30_000);

    assertTrue(fixture.last(Hold.class).pause().holds());
    fixture.heartbeat(successor, server(7));
    fixture.acceptAll();
    assertEquals(List.of(SERVER.rank()), left());
  }

  @Test
  void shouldHoldNobodyForGoodWhenTheSuccessorDiesInTheLastMoment() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    fixture.coordinator.handedOver(SERVER, server(7));
    fixture.leave(SERVER);

    fixture.advance(10_100);

    assertFalse(fixture.last(Hold.class).pause().holds());
    assertEquals(JobPhase.RUNNING, fixture.coordinator.state(), "it waits for another server");
  }

  @Test
  void shouldReplaceAMemberThatIsLostWhileItHandsOver() {
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    fixture.coordinator.onProcessEnded("worker 1", "killed");

    assertEquals(Optional.empty(), standsBy("next", Role.WORKER));
    assertEquals(AGAIN, fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE));
  }

  @Test
  void shouldHoldWorkersWhileAnotherMemberThatWasAskedIsLost() {
    fixture.coordinator.drain("server 0");
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.SERVER);
    fixture.coordinator.handedOver(SERVER, server(7));

    fixture.coordinator.onProcessEnded("worker 1", "killed");
    fixture.acceptAll();
    fixture.joinFrom("other", Role.WORKER, MemberStatus.NONE);
    fixture.acceptAll();
    fixture.advance(12_000);

    assertTrue(fixture.published().hasWorker(1, 1));
    assertTrue(fixture.last(Hold.class).pause().holds(), "the server has not left");
  }

  @Test
  void shouldNotAskAMemberThatLeavesToPlayALostRank() {
    fixture.coordinator.drain("worker 0");
    fixture.coordinator.onProcessEnded("worker 1", "killed");
    fixture.acceptAll();
    fixture.advance(1_000);

    assertEquals(List.of(), fixture.all(Decision.Adopt.class));
  }

  @Test
  void shouldGiveNewcomersAFreePlaceFirst() {
    fixture.coordinator.drain("worker 1");
    fixture.coordinator.onProcessEnded("worker 0", "killed");

    assertEquals(Optional.empty(), standsBy("next", Role.WORKER));
    assertEquals(Optional.empty(), standsBy("next", Role.SERVER), "no server was asked to leave");
  }

  @Test
  void shouldHandOverDuringAPause() {
    fixture = withoutServers();
    fixture.coordinator.pause();
    fixture.coordinator.drain("worker 1");
    standsBy("next", Role.WORKER);
    fixture.coordinator.handedOver(SECOND, MemberStatus.NONE);
    fixture.leave(SECOND);
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);
    fixture.advance(20_000);
    assertFalse(fixture.published().hasWorker(1, 1));
    assertTrue(fixture.last(Hold.class).pause().holds());

    fixture.coordinator.resume();
    fixture.advance(100);

    assertTrue(fixture.published().hasWorker(1, 1));
    assertFalse(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldKeepMembersOfARunThatIsAboutToBeStopped() {
    fixture.coordinator.drain("server 0");
    standsBy("next", Role.SERVER);
    fixture.coordinator.announceStop();

    assertTrue(fixture.coordinator.drain("server 0"), "it stays until the run is saved");
    assertFalse(fixture.last(Hold.class).pause().holds(), "the stop itself holds them");
    fixture.coordinator.notHandedOver(SERVER);
    fixture.advance(30_000);

    assertEquals(1, fixture.all(HandOver.class).size());
    assertEquals(Optional.empty(), standsBy("next", Role.SERVER));
  }

  @Test
  void shouldKeepMembersOfAJobThatEndsEarly() {
    StopConfig minute =
        new StopConfig(OptionalDouble.empty(), OptionalDouble.empty(), OptionalDouble.of(0.1));
    fixture = started(1, CoordinatorStateFixture.config(1, 2, 4096, true, 1, minute));
    fixture.coordinator.drain("worker 1");
    fixture.advance(6_200);
    assertEquals(JobPhase.ENDING, fixture.coordinator.state());

    assertEquals(Optional.empty(), standsBy("next", Role.WORKER));
    assertTrue(fixture.coordinator.drain("worker 1"));
    assertEquals(List.of(), fixture.all(HandOver.class));
  }

  @Test
  void shouldLetMembersOfAJobThatHasNotBegunLeaveAtOnce() {
    CoordinatorStateFixture waiting =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
    waiting.joinFrom("worker 0", Role.WORKER, MemberStatus.NONE);

    assertFalse(waiting.coordinator.drain("worker 0"));
    assertEquals(List.of(), waiting.all(Succeed.class));
  }

  @Test
  void shouldAnswerRequestsOverTheBus() {
    ControlRequestHandler handler = new ControlRequestHandler(fixture.coordinator);
    JsonObject drain = JsonObject.of("request", "drain");

    assertEquals(
        "no member is \"worker 7\", expected one of server 0, worker 0, worker 1",
        handler.answer(drain.copy().put("member", "worker 7")).getString("refused"));
    assertEquals(
        "the job is running, nothing is handed over",
        handler.answer(drain.copy().put("node", "elsewhere")).getString("unknown"));
    assertEquals("running", handler.answer(drain.put("member", "worker-1")).getString("state"));
    assertEquals(new Succeed("worker 1"), fixture.last(Succeed.class));
    assertEquals(
        "worker 1 is about to hand its place over",
        handler
            .answer(
                ControlCodec.write(
                    (ControlRequest) fixture.requestFrom("next", Role.WORKER, MemberStatus.NONE)))
            .getString("standby"));
  }

  @Test
  void shouldRefuseStandbysWithOtherTerms() {
    fixture.coordinator.drain("worker 1");
    JoinRequest same = fixture.requestFrom("next", Role.WORKER, MemberStatus.NONE);
    JoinRequest other =
        new JoinRequest(
            same.role(),
            same.token(),
            same.node(),
            same.clusterNode(),
            new JobTerms(Map.of("steps", "7"), Map.of()),
            same.layout(),
            same.adopts(),
            same.before(),
            same.holds(),
            same.status());

    assertThrows(JoinException.class, () -> fixture.coordinator.standsBy(other));
    assertEquals(List.of(), fixture.all(HandOver.class));
  }

  private static CoordinatorConfig remembering() {
    CoordinatorConfig config = CoordinatorStateFixture.config(1, 2, true);
    CoordinatorConfig.Places p = config.places();
    return CoordinatorStateFixture.with(
        config,
        new CoordinatorConfig.Places(
            p.servers(),
            p.workers(),
            p.workerCapacity(),
            2,
            p.minimumWorkers(),
            p.holdsWhenTooFew(),
            p.evaluators()));
  }

  private Optional<String> standsBy(String node, Role role) {
    return fixture.coordinator.standsBy(fixture.requestFrom(node, role, MemberStatus.NONE));
  }

  private static MemberStatus server(long version) {
    return new ServerStatus(version, 0, true, 0, Optional.empty(), Optional.empty());
  }

  private List<String> places() {
    return fixture.events(MemberDraining.class).stream().map(MemberDraining::place).toList();
  }

  private List<Integer> left() {
    return fixture.events(MemberLeft.class).stream().map(MemberLeft::rank).toList();
  }
}
