package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests members that fall silent, leave and are replaced. */
final class CoordinatorStateLossTest {

  @Test
  void shouldSuspectThenEvictASilentMemberAndRaiseItsIncarnation() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 3, true)).started(1, 3);
    Admission worker = new Admission(Role.WORKER, 1, 0);
    fixture.heartbeat(
        worker, ControlCodec.status(new JsonObject().put("step", 57).put("event", "computing")));
    fixture.silence(worker);

    fixture.advance(2_900);
    assertTrue(fixture.events(MemberSuspected.class).isEmpty());
    fixture.advance(100);
    assertEquals(3_000, fixture.events(MemberSuspected.class).get(0).silentMillis());
    fixture.advance(7_000);
    fixture.acceptAll();

    MemberLeft left = fixture.events(MemberLeft.class).get(0);
    assertEquals(1, left.rank());
    assertTrue(left.reason().contains("last heard step 57"), left.reason());
    assertEquals(Optional.empty(), fixture.published().worker(1));
    assertFalse(fixture.coordinator.heartbeat(worker, MemberStatus.NONE));
    assertEquals(left.reason(), fixture.coordinator.leaveReason(worker));
    assertEquals(new Admission(Role.WORKER, 1, 1), fixture.join(Role.WORKER));
  }

  /** The job has room for more workers than ranks; one more would change its result. */
  @Test
  void shouldAssignALostRankBeforeANewOne() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission lost = new Admission(Role.WORKER, 1, 0);
    fixture.silence(lost);
    fixture.advance(10_000);
    fixture.acceptAll();

    assertEquals(new Admission(Role.WORKER, 1, 1), fixture.joinAsSubstitute());
    assertEquals(new Admission(Role.WORKER, 1, 2), fixture.join(Role.WORKER));
    JoinException gaveWay = assertThrows(JoinException.class, fixture::joinAsSubstitute);
    assertFalse(gaveWay.worthRetrying(), "it is needed no longer, by the next coordinator either");
    assertEquals(
        new Admission(Role.WORKER, 2, 0), fixture.join(Role.WORKER), "one that was asked for");
  }

  @Test
  void shouldEvictNobodyForTimeInWhichTheCoordinatorSlept() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    fixture.freeze(30_000);
    fixture.advance(1_000);

    assertTrue(fixture.events(MemberSuspected.class).isEmpty());
    assertTrue(fixture.events(MemberLeft.class).isEmpty());
  }

  @Test
  void shouldEvictAServerThatAnswersNoProposal() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    fixture.join(Role.WORKER);
    fixture.coordinator.accepted(2, 0, ProposalAnswer.ACCEPTED);

    fixture.advance(10_200);

    MemberLeft left = fixture.events(MemberLeft.class).get(0);
    assertEquals("server 1", left.role().lower() + " " + left.rank());
    assertEquals(List.of(new Member(0, 0, 0)), proposed(fixture).servers());
  }

  @Test
  void shouldFailNamingTheShardWhenNoReplacementComes() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    fixture.silence(new Admission(Role.SERVER, 1, 0));

    fixture.advance(10_000);
    fixture.acceptAll();
    fixture.advance(60_200);

    assertTrue(fixture.failure().startsWith("server 1 is missing for 60 s"), fixture.failure());
    assertTrue(fixture.failure().contains("silent for 10000 ms"), fixture.failure());
    assertEquals(JobPhase.FAILED, fixture.coordinator.state());
  }

  @Test
  void shouldFailWhenAReplacementServerHasNoState() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission server = new Admission(Role.SERVER, 0, 0);
    fixture.heartbeat(server, ControlCodec.status(new JsonObject().put("version", 57)));
    fixture.coordinator.leave(server, LeaveReason.read("crashed"), MemberStatus.NONE);

    fixture.join(
        Role.SERVER, FakeMember.LAYOUT, ControlCodec.status(new JsonObject().put("version", 0)));

    assertTrue(fixture.failure().startsWith("shard 0 was lost at version 57"), fixture.failure());
    assertTrue(fixture.failure().contains("found no usable checkpoint"), fixture.failure());
  }

  @Test
  void shouldContinueWhenAReplacementServerRestoredTheFirstParameters() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission server = new Admission(Role.SERVER, 0, 0);
    fixture.heartbeat(server, ControlCodec.status(new JsonObject().put("version", 57)));
    fixture.coordinator.leave(server, LeaveReason.read("crashed"), MemberStatus.NONE);

    fixture.join(
        Role.SERVER,
        FakeMember.LAYOUT,
        ControlCodec.status(new JsonObject().put("version", 0).put("restored", true)));
    fixture.acceptAll();

    assertEquals(JobPhase.RUNNING, fixture.coordinator.state());
    assertEquals(1, fixture.published().server(0).orElseThrow().incarnation());
  }

  @Test
  void shouldNotWaitForTheLimitWhenAProcessIsKnownToHaveEnded() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    fixture.coordinator.onProcessEnded("elsewhere", "its process ended");
    assertTrue(fixture.events(MemberLeft.class).isEmpty());
    fixture.coordinator.onProcessEnded("nowhere", "its process ended");

    assertEquals(3, fixture.events(MemberLeft.class).size());
    assertEquals("its process ended", fixture.events(MemberLeft.class).get(0).reason());
    assertEquals(new Admission(Role.WORKER, 0, 1), fixture.join(Role.WORKER));
  }

  @Test
  void shouldActivateWorkersFromTheRestoredVersion() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    fixture.join(Role.WORKER);
    fixture.coordinator.refused(2, 0, 60);
    fixture.acceptAll();
    assertEquals(68, fixture.published().worker(2).orElseThrow().activeFrom());
    fixture.coordinator.leave(
        new Admission(Role.SERVER, 0, 0), LeaveReason.read("crashed"), MemberStatus.NONE);

    fixture.join(
        Role.SERVER, FakeMember.LAYOUT, ControlCodec.status(new JsonObject().put("version", 40)));
    fixture.acceptAll();

    assertEquals(40, fixture.published().worker(2).orElseThrow().activeFrom());
    assertEquals(1, fixture.published().server(0).orElseThrow().incarnation());
  }

  @Test
  void shouldNameTheMembersThatLeftWhenTooFewWorkersRemain() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("its disk is full"), MemberStatus.NONE);
    fixture.acceptAll();

    fixture.advance(60_200);

    assertEquals(
        "1 of at least 2 workers for 60 s (workers.minimum): worker 1 at nowhere: its disk is full",
        fixture.failure());
  }

  @Test
  void shouldFailAtOnceWithTheFirstReasonWhenEveryWorkerHasBrokenDown() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    fixture.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("failed: NaN"), MemberStatus.NONE);
    assertEquals(JobPhase.RUNNING, fixture.coordinator.state());
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("failed: NaN too"), MemberStatus.NONE);

    assertEquals(
        "no worker is left, all have failed; the first was worker 1 at nowhere: NaN",
        fixture.failure());
  }

  @Test
  void shouldWaitForAReplacementUnlessEveryWorkerFailed() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    fixture.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("stopped"), MemberStatus.NONE);
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("failed: NaN"), MemberStatus.NONE);

    assertEquals(JobPhase.RUNNING, fixture.coordinator.state());
  }

  private static Membership proposed(CoordinatorStateFixture fixture) {
    return fixture.last(Decision.Propose.class).next();
  }
}
