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
  void shouldSuspectThenEvictTheSilentAndGiveItsRankANewIncarnation() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 3, true)).started(1, 3);
    Admission worker = new Admission(Role.WORKER, 1, 0);
    stage.says(
        worker, ControlCodec.status(new JsonObject().put("step", 57).put("event", "computing")));
    stage.silence(worker);

    stage.pass(2_900);
    assertTrue(stage.events(MemberSuspected.class).isEmpty());
    stage.pass(100);
    assertEquals(3_000, stage.events(MemberSuspected.class).get(0).silentMillis());
    stage.pass(7_000);
    stage.acceptAll();

    MemberLeft left = stage.events(MemberLeft.class).get(0);
    assertEquals(1, left.rank());
    assertTrue(left.reason().contains("\"step\":57"), left.reason());
    assertEquals(Optional.empty(), stage.published().worker(1));
    assertFalse(stage.coordinator.heartbeat(worker, MemberStatus.NONE));
    assertEquals(left.reason(), stage.coordinator.leaveReason(worker));
    assertEquals(new Admission(Role.WORKER, 1, 1), stage.join(Role.WORKER));
  }

  /** The job has room for more workers than ranks; one more would change its result. */
  @Test
  void shouldHandOverALostRankRatherThanGiveOutOneMore() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission lost = new Admission(Role.WORKER, 1, 0);
    stage.silence(lost);
    stage.pass(10_000);
    stage.acceptAll();

    assertEquals(new Admission(Role.WORKER, 1, 1), stage.adopt());
    assertEquals(new Admission(Role.WORKER, 1, 2), stage.join(Role.WORKER));
    JoinException gaveWay = assertThrows(JoinException.class, stage::adopt);
    assertFalse(gaveWay.worthRetrying(), "it is needed no longer, by the next coordinator either");
    assertEquals(
        new Admission(Role.WORKER, 2, 0), stage.join(Role.WORKER), "one that was asked for");
  }

  @Test
  void shouldBlameNobodyForTimeInWhichTheCoordinatorSlept() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    stage.freeze(30_000);
    stage.pass(1_000);

    assertTrue(stage.events(MemberSuspected.class).isEmpty());
    assertTrue(stage.events(MemberLeft.class).isEmpty());
  }

  @Test
  void shouldEvictAServerThatAnswersNoProposal() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    stage.join(Role.WORKER);
    stage.coordinator.accepted(2, 0);

    stage.pass(10_200);

    MemberLeft left = stage.events(MemberLeft.class).get(0);
    assertEquals("server 1", left.role() + " " + left.rank());
    assertEquals(List.of(new Member(0, 0, 0)), proposed(stage).servers());
  }

  @Test
  void shouldFailNamingTheShardWhenNoReplacementComes() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    stage.silence(new Admission(Role.SERVER, 1, 0));

    stage.pass(10_000);
    stage.acceptAll();
    stage.pass(60_200);

    assertTrue(stage.failure().startsWith("server 1 is missing for 60 s"), stage.failure());
    assertTrue(stage.failure().contains("silent for 10000 ms"), stage.failure());
    assertEquals(JobPhase.FAILED, stage.coordinator.state());
  }

  @Test
  void shouldFailWhenAReplacementServerBringsNothingBack() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission server = new Admission(Role.SERVER, 0, 0);
    stage.says(server, ControlCodec.status(new JsonObject().put("version", 57)));
    stage.coordinator.leave(server, LeaveReason.read("crashed"), MemberStatus.NONE);

    stage.join(
        Role.SERVER, FakeMember.LAYOUT, ControlCodec.status(new JsonObject().put("version", 0)));

    assertTrue(stage.failure().startsWith("shard 0 was lost at version 57"), stage.failure());
    assertTrue(stage.failure().contains("found no usable checkpoint"), stage.failure());
  }

  @Test
  void shouldGoOnWhenAReplacementServerRestoredTheBeginning() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    Admission server = new Admission(Role.SERVER, 0, 0);
    stage.says(server, ControlCodec.status(new JsonObject().put("version", 57)));
    stage.coordinator.leave(server, LeaveReason.read("crashed"), MemberStatus.NONE);

    stage.join(
        Role.SERVER,
        FakeMember.LAYOUT,
        ControlCodec.status(new JsonObject().put("version", 0).put("restored", true)));
    stage.acceptAll();

    assertEquals(JobPhase.RUNNING, stage.coordinator.state());
    assertEquals(1, stage.published().server(0).orElseThrow().incarnation());
  }

  @Test
  void shouldNotWaitForTheLimitWhenAProcessIsKnownToHaveEnded() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    stage.coordinator.onProcessEnded("elsewhere", "its process ended");
    assertTrue(stage.events(MemberLeft.class).isEmpty());
    stage.coordinator.onProcessEnded("nowhere", "its process ended");

    assertEquals(3, stage.events(MemberLeft.class).size());
    assertEquals("its process ended", stage.events(MemberLeft.class).get(0).reason());
    assertEquals(new Admission(Role.WORKER, 0, 1), stage.join(Role.WORKER));
  }

  @Test
  void shouldLetWorkersTakePartFromTheRestoredVersionOn() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    stage.join(Role.WORKER);
    stage.coordinator.refused(2, 0, 60);
    stage.acceptAll();
    assertEquals(68, stage.published().worker(2).orElseThrow().activeFrom());
    stage.coordinator.leave(
        new Admission(Role.SERVER, 0, 0), LeaveReason.read("crashed"), MemberStatus.NONE);

    stage.join(
        Role.SERVER, FakeMember.LAYOUT, ControlCodec.status(new JsonObject().put("version", 40)));
    stage.acceptAll();

    assertEquals(40, stage.published().worker(2).orElseThrow().activeFrom());
    assertEquals(1, stage.published().server(0).orElseThrow().incarnation());
  }

  @Test
  void shouldFailNamingWhoLeftWhenTooFewWorkersAreLeft() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    stage.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("its disk is full"), MemberStatus.NONE);
    stage.acceptAll();

    stage.pass(60_200);

    assertEquals(
        "1 of at least 2 workers for 60 s (workers.minimum): worker 1 at nowhere: its disk is full",
        stage.failure());
  }

  @Test
  void shouldFailAtOnceWithTheFirstReasonWhenEveryWorkerHasBrokenDown() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    stage.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("failed: NaN"), MemberStatus.NONE);
    assertEquals(JobPhase.RUNNING, stage.coordinator.state());
    stage.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("failed: NaN too"), MemberStatus.NONE);

    assertEquals(
        "no worker is left, all have failed; the first was worker 1 at nowhere: NaN",
        stage.failure());
  }

  @Test
  void shouldWaitForAReplacementWhenNotEveryWorkerBrokeDownByItself() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);

    stage.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.read("stopped"), MemberStatus.NONE);
    stage.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("failed: NaN"), MemberStatus.NONE);

    assertEquals(JobPhase.RUNNING, stage.coordinator.state());
  }

  private static Membership proposed(CoordinatorStateFixture stage) {
    return stage.last(Decision.Propose.class).next();
  }
}
