package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class CoordinatorStateTest {

  @Test
  void shouldPublishTheFirstMembershipOnlyWhenEveryServerHasAgreed() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true));
    stage.join(Role.WORKER);
    stage.join(Role.SERVER);
    stage.join(Role.SERVER);
    assertTrue(stage.all(Decision.Propose.class).isEmpty());

    stage.join(Role.WORKER);
    stage.coordinator.accepted(1, 0);
    assertTrue(stage.all(Decision.Publish.class).isEmpty());
    stage.coordinator.accepted(1, 1);

    List<Member> two = List.of(new Member(0, 0, 0), new Member(1, 0, 0));
    assertEquals(new Membership(1, two, two), stage.published());
    assertEquals(2, stage.events(JobStarted.class).get(0).workers());
  }

  @Test
  void shouldNotStartWhileAServerIsStillStarting() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 1, true));
    MemberStatus starting = ControlCodec.status(new JsonObject().put("starting", true));
    Admission server = stage.join(Role.SERVER, FakeMember.LAYOUT, starting);
    stage.join(Role.WORKER);
    assertTrue(stage.all(Decision.Propose.class).isEmpty());

    stage.says(server, MemberStatus.NONE);

    assertEquals(1, stage.all(Decision.Propose.class).size());
  }

  @Test
  void shouldWaitForTheEvaluatorOnlyBriefly() {
    CoordinatorConfig one = CoordinatorStateFixture.config(1, 1, true);
    CoordinatorStateFixture stage = new CoordinatorStateFixture(withEvaluator(one));
    stage.join(Role.SERVER);
    stage.join(Role.WORKER);

    stage.pass(4_900);
    assertTrue(stage.all(Decision.Propose.class).isEmpty());
    stage.pass(200);

    assertEquals(1, stage.all(Decision.Propose.class).size());
  }

  @Test
  void shouldAdmitOnceWhenAJoinIsRepeated() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
    JoinRequest request =
        new JoinRequest(
            Role.WORKER,
            "same",
            "nowhere",
            "",
            new JobTerms(Map.of()),
            FakeMember.LAYOUT,
            false,
            Optional.empty(),
            OptionalLong.empty(),
            MemberStatus.NONE);

    Admission first = stage.coordinator.join(request);

    assertEquals(first, stage.coordinator.join(request));
  }

  @Test
  void shouldDoubleTheMarginUntilEveryServerIsBehindTheFirstRound() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    stage.join(Role.WORKER);
    assertEquals(Optional.of(new Member(2, 0, 4)), proposed(stage).worker(2));

    stage.coordinator.accepted(2, 0);
    stage.coordinator.refused(2, 1, 100);
    assertEquals(Optional.of(new Member(2, 0, 108)), proposed(stage).worker(2));
    stage.coordinator.refused(3, 0, 110);
    assertEquals(Optional.of(new Member(2, 0, 126)), proposed(stage).worker(2));
    assertEquals(1, stage.published().epoch());
    stage.acceptAll();

    assertEquals(4, stage.published().epoch());
    assertEquals(Optional.of(new Member(2, 0, 126)), stage.published().worker(2));
    assertEquals(Optional.of(new Member(0, 0, 0)), stage.published().worker(0));
  }

  @Test
  void shouldIgnoreAnswersToAnEarlierProposal() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    stage.join(Role.WORKER);
    stage.coordinator.refused(2, 0, 50);

    stage.coordinator.accepted(2, 0);
    stage.coordinator.refused(2, 0, 70);

    assertEquals(3, proposed(stage).epoch());
    assertEquals(1, stage.published().epoch());
  }

  @Test
  void shouldLetNewcomersStartAtOnceWhenWorkersDoNotMoveInRounds() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, false)).started(1, 2);
    stage.says(
        new Admission(Role.WORKER, 0, 0),
        ControlCodec.status(new JsonObject().put("version", 400)));

    stage.join(Role.WORKER);
    stage.acceptAll();

    assertEquals(Optional.of(new Member(2, 0, 0)), stage.published().worker(2));
  }

  @Test
  void shouldConcludeWhenTheLastWorkerFinishedThoughAnotherDied() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    MemberStatus last =
        ControlCodec.status(new JsonObject().put("version", 1_000).put("samples", 5_000));

    stage.coordinator.leave(new Admission(Role.WORKER, 0, 0), LeaveReason.FINISHED, last);
    assertTrue(stage.all(Decision.Conclude.class).isEmpty());
    stage.silence(new Admission(Role.WORKER, 1, 0));
    stage.pass(10_000);
    stage.coordinator.concluded(List.of(), List.of(), Optional.empty());

    assertEquals(1_000, stage.last(Decision.Conclude.class).version());
    assertEquals(
        new JsonObject().put("state", "finished").put("version", 1_000).put("samples", 5_000),
        ControlCodec.write(stage.last(Decision.Complete.class).outcome()));
  }

  @Test
  void shouldLetEverybodyGoWhenNobodyAsksAfterTheEnd() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 1, true)).started(1, 1);
    stage.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.FINISHED, MemberStatus.NONE);
    stage.coordinator.concluded(List.of(), List.of(), Optional.empty());

    stage.pass(59_000);
    assertTrue(stage.all(Decision.Stop.class).isEmpty());
    stage.pass(1_200);

    assertEquals(1, stage.all(Decision.Stop.class).size());
    assertEquals(1, stage.all(Decision.Complete.class).size());
  }

  @Test
  void shouldTurnNewcomersAwayWhenTheLastVersionIsReached() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    stage.says(
        new Admission(Role.SERVER, 0, 0),
        ControlCodec.status(new JsonObject().put("version", 1_000)));

    JoinException refused = assertThrows(JoinException.class, () -> stage.join(Role.WORKER));

    assertEquals("the job has reached its last version, 1000", refused.getMessage());
    assertTrue(refused.late());
  }

  @Test
  void shouldDismissANewcomerWhenTheJobEndsBeforeItsFirstRound() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    stage.join(Role.WORKER);

    stage.coordinator.refused(2, 0, 1_000);

    assertEquals(2, stage.events(MemberLeft.class).get(0).rank());
    assertEquals(2, proposed(stage).workers().size());
  }

  @Test
  void shouldRefuseAWorkerWithoutAShareUntilAPlaceIsLost() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, 2, true)).started(1, 2);

    JoinException refused = assertThrows(JoinException.class, () -> stage.join(Role.WORKER));
    stage.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("crashed"), MemberStatus.NONE);

    assertEquals(
        "worker at nowhere is refused: the job has all 2 of its workers (worker 0 at nowhere,"
            + " worker 1 at nowhere); it takes a place only when one is lost, because"
            + " workers.sampler \"distributed\" cuts the data into workers.count shares; to let any"
            + " number join, start the job with workers.sampler=none",
        refused.getMessage());
    assertTrue(refused.worthRetrying());
    assertEquals(new Admission(Role.WORKER, 0, 1), stage.join(Role.WORKER));
  }

  /** A returning worker has that rank's replica in memory, and no other one. */
  @Test
  void shouldGiveAWorkerItsRankBackWhenOnlyAnAdoptedOneHasTakenIt() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, 2, true)).started(1, 2);
    Admission first = new Admission(Role.WORKER, 0, 0);
    Admission second = new Admission(Role.WORKER, 1, 0);
    stage.coordinator.leave(first, LeaveReason.lost("silent"), MemberStatus.NONE);
    stage.coordinator.leave(second, LeaveReason.lost("silent"), MemberStatus.NONE);
    Admission adopted = stage.adopt();
    assertEquals(0, adopted.rank());

    assertEquals(0, stage.joinAgain(first).rank());
    assertEquals(1, stage.joinAgain(second).rank());
    assertFalse(stage.coordinator.heartbeat(adopted, MemberStatus.NONE), "it has given way");
  }

  private static Membership proposed(CoordinatorStateFixture stage) {
    return stage.last(Decision.Propose.class).next();
  }

  private static CoordinatorConfig withEvaluator(CoordinatorConfig c) {
    return new CoordinatorConfig(
        c.run(),
        c.resumes(),
        c.checkpointMillis(),
        c.writesCheckpoints(),
        c.terms(),
        c.strategy(),
        c.lockstep(),
        c.stepsTogether(),
        c.endsEvery(),
        c.steps(),
        c.lastVersion(),
        c.servers(),
        c.backups(),
        c.workers(),
        c.workerCapacity(),
        0,
        1,
        c.holdsWhenTooFew(),
        1,
        c.waitMillis(),
        c.evaluatorWaitMillis(),
        c.suspectMillis(),
        c.evictMillis(),
        c.stallMillis(),
        c.stop(),
        c.deadlineMillis(),
        c.evaluations(),
        c.names());
  }
}
