package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobEnding;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/** Tests a job of two workers that ends before its last version, 1,000. */
final class CoordinatorStateEndTest {

  private static final StopConfig AT_90 =
      new StopConfig(OptionalDouble.of(90), OptionalDouble.empty(), OptionalDouble.of(10));
  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);
  private static final Admission FIRST = new Admission(Role.WORKER, 0, 0);
  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);

  @Test
  void shouldEndAfterTheLastStartedRound() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);

    reportTest(fixture, 91);
    assertEquals(new Pause(1, 0), fixture.last(Hold.class).pause());
    reply(fixture, FIRST, 1, 18);
    reply(fixture, SECOND, 1, 19);
    reply(fixture, FIRST, 3, 18);
    assertFalse(fixture.last(Hold.class).pause().ends(), "the second has not heard of 19");
    reply(fixture, SECOND, 3, 19);

    assertEquals(
        new Pause(4, 19, EvaluationPlan.NONE, false, true, List.of()),
        fixture.last(Hold.class).pause());
    assertEquals(
        List.of(new JobEnding(0, "accuracy", 90, 91, 10)), fixture.events(JobEnding.class));
    fixture.coordinator.leave(
        FIRST, LeaveReason.read("finished"), CoordinatorStateFixture.worker(19, false));
    assertTrue(fixture.all(Conclude.class).isEmpty());
    fixture.coordinator.leave(SECOND, LeaveReason.read("finished"), MemberStatus.NONE);
    assertEquals(19, fixture.last(Conclude.class).version());
    fixture.coordinator.concluded(List.of(), List.of(), Optional.empty());
    assertEquals(
        "{\"reason\":\"accuracy\",\"threshold\":90.0,\"value\":91.0,\"version\":10}",
        ControlCodec.write(fixture.last(Decision.Complete.class).outcome())
            .getJsonObject("stopped")
            .encode());
  }

  @Test
  void shouldFinishSoThatTheModelIsSavedWhenOnlyTheLastTestFails() {
    CoordinatorStateFixture fixture = finishing();

    fixture.coordinator.leave(
        new Admission(Role.EVALUATOR, 0, 0),
        LeaveReason.read("fails the job: a sample is broken"),
        MemberStatus.NONE);
    fixture.coordinator.concluded(List.of(), List.of(), Optional.empty());

    JsonObject outcome = ControlCodec.write(fixture.last(Decision.Complete.class).outcome());
    assertEquals("finished", outcome.getString("state"), outcome::encode);
  }

  @Test
  void shouldAdmitAServerThatReturnsWithTheModelAfterTheEnd() {
    CoordinatorStateFixture fixture = finishing();
    fixture.coordinator.concluded(List.of(), List.of(), Optional.empty());

    fixture.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus saved = new ServerStatus(1_000, 9, true, 0, Optional.empty(), Optional.empty());
    Admission replacement = fixture.join(Role.SERVER, FakeMember.LAYOUT, saved);
    fixture.acceptAll();

    assertEquals(new Admission(Role.SERVER, 0, 1), replacement);
    assertEquals(1, fixture.published().server(0).orElseThrow().incarnation());
    assertThrows(JoinException.class, () -> fixture.join(Role.WORKER), "nobody trains any more");
  }

  @Test
  void shouldFailWhenAServerReturnsWithoutTheLastVersionAndNobodyCanRepeatIt() {
    CoordinatorStateFixture fixture = finishing();

    fixture.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus older = new ServerStatus(980, 9, true, 0, Optional.empty(), Optional.empty());
    fixture.join(Role.SERVER, FakeMember.LAYOUT, older);

    assertTrue(
        fixture.failure().contains("before version 1000 was on its disk"), fixture.failure());
    assertTrue(fixture.failure().contains("server 0"), fixture.failure());
  }

  @Test
  void shouldReadmitWorkersWhenAServerFallsBackFromTheLastVersion() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    fixture.heartbeat(
        SERVER, new ServerStatus(1_000, 9, false, 0, Optional.empty(), Optional.empty()));
    fixture.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus older = new ServerStatus(980, 9, true, 0, Optional.empty(), Optional.empty());
    fixture.coordinator.leave(SECOND, LeaveReason.lost("joins again"), MemberStatus.NONE);
    assertThrows(JoinException.class, () -> fixture.join(Role.WORKER), "all steps are made");

    fixture.join(Role.SERVER, FakeMember.LAYOUT, older);

    assertEquals(new Admission(Role.WORKER, 1, 1), fixture.join(Role.WORKER));
  }

  private static CoordinatorStateFixture finishing() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    MemberStatus last = CoordinatorStateFixture.worker(1_000, false);
    fixture.coordinator.leave(FIRST, LeaveReason.read("finished"), last);
    fixture.coordinator.leave(SECOND, LeaveReason.read("finished"), last);
    assertEquals(1, fixture.all(Conclude.class).size());
    return fixture;
  }

  /** The model of a job without servers is the mean of all replicas. */
  @Test
  void shouldAdmitAReplacementWhenAWorkerIsLostWhileAnotherIsAtTheLastVersion() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(0, 2, true));
    fixture.join(Role.WORKER);
    fixture.join(Role.WORKER);
    MemberStatus atTheEnd = CoordinatorStateFixture.worker(1_000, false);
    fixture.setStatus(FIRST, atTheEnd);
    fixture.advance(200);

    fixture.coordinator.leave(SECOND, LeaveReason.lost("killed"), MemberStatus.NONE);
    fixture.silence(SECOND);
    fixture.advance(1_000);
    assertTrue(fixture.all(Conclude.class).isEmpty(), "one of two replicas is not the model");
    Admission replacement = fixture.join(Role.WORKER);
    assertEquals(new Admission(Role.WORKER, 1, 1), replacement);
    fixture.setStatus(replacement, atTheEnd);
    fixture.advance(200);

    assertEquals(1_000, fixture.last(Conclude.class).version());
  }

  @Test
  void shouldEndAtOnceInStrategiesWithoutRounds() {
    CoordinatorStateFixture fixture = fixture(1, false, 1);

    reportTest(fixture, 90);

    assertEquals(
        new Pause(2, 0, EvaluationPlan.NONE, false, true, List.of()),
        fixture.last(Hold.class).pause());
  }

  @Test
  void shouldEndAtAVersionWhereReplicasAgree() {
    CoordinatorStateFixture fixture = fixture(0, true, 10);

    reportTest(fixture, 90);
    reply(fixture, FIRST, 1, 18);
    reply(fixture, FIRST, 2, 18);
    reply(fixture, SECOND, 2, 17);
    assertEquals(
        new Pause(3, 20, EvaluationPlan.NONE, false, true, List.of()),
        fixture.last(Hold.class).pause());
    fixture.setStatus(FIRST, CoordinatorStateFixture.worker(20, true));
    fixture.advance(2_000);
    assertEquals(JobPhase.ENDING, fixture.coordinator.state());
    fixture.setStatus(SECOND, CoordinatorStateFixture.worker(20, true));
    fixture.advance(200);

    assertEquals(20, fixture.last(Conclude.class).version());
    assertEquals(List.of(), fixture.events(StallFound.class));
  }

  @Test
  void shouldEndAfterTenMinutesOfTrainingWhenPauseIsLeftOut() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    fixture.advance(300_000);
    fixture.coordinator.pause();
    fixture.advance(600_000);
    fixture.coordinator.resume();
    fixture.advance(100);
    fixture.acceptAll();
    fixture.advance(299_000);
    assertEquals(List.of(), fixture.events(JobEnding.class));

    fixture.advance(1_500);

    JobEnding ending = fixture.events(JobEnding.class).get(0);
    assertEquals("minutes", ending.reason());
    assertEquals(10, ending.value(), 0.01);
  }

  @Test
  void shouldNotEndTwiceNorForATestOfTheFirstOrLastVersion() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    fixture.coordinator.onTest(new Evaluated(0, 0, 10, 0.1, 99, true, ""));
    fixture.coordinator.onTest(new Evaluated(0, 1_000, 10, 0.1, 99, true, ""));
    assertEquals(JobPhase.RUNNING, fixture.coordinator.state());

    reportTest(fixture, 91);
    reportTest(fixture, 92);

    assertEquals(1, fixture.events(JobEnding.class).size());
    assertFalse(fixture.coordinator.pause());
    assertFalse(fixture.coordinator.resume());
  }

  @Test
  void shouldEndAPausedJobAndSayThatThePauseIsOver() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    fixture.coordinator.pause();

    reportTest(fixture, 91);
    reply(fixture, FIRST, 1, 5);
    reply(fixture, FIRST, 2, 5);
    reply(fixture, SECOND, 2, 5);

    assertEquals(1, fixture.events(JobResumed.class).size());
    assertEquals(
        new Pause(3, 5, EvaluationPlan.NONE, false, true, List.of()),
        fixture.last(Hold.class).pause());
  }

  @Test
  void shouldRefuseNewcomersAndNotWaitForWaitingOnes() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    Admission third = fixture.join(Role.WORKER);
    fixture.acceptAll();
    assertTrue(fixture.published().hasWorker(third.rank(), 0));

    reportTest(fixture, 91);
    reply(fixture, FIRST, 1, 0);
    reply(fixture, SECOND, 1, 0);
    reply(fixture, third, 1, 0);

    assertEquals(Optional.empty(), fixture.coordinator.membership().worker(9));
    JoinException late = assertThrows(JoinException.class, () -> fixture.join(Role.WORKER));
    assertTrue(late.late());
    fixture.coordinator.leave(FIRST, LeaveReason.read("finished"), MemberStatus.NONE);
    fixture.coordinator.leave(SECOND, LeaveReason.read("finished"), MemberStatus.NONE);
    assertEquals(1, fixture.all(Conclude.class).size(), "the third's first round never comes");
  }

  @Test
  void shouldFailAndNameTheWorkerThatDoesNotFinishItsStep() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);
    reportTest(fixture, 91);

    fixture.advance(60_500);

    assertEquals(
        "the job was to end early, but for 60 s nothing came of the steps that had begun; missing:"
            + " worker 0 at nowhere, worker 1 at nowhere",
        fixture.failure());
  }

  @Test
  void shouldReportTheReasonWhenItIsStopped() {
    CoordinatorStateFixture fixture = fixture(1, true, 1);

    fixture.coordinator.stop("the user pressed Ctrl-C");

    assertEquals(JobPhase.STOPPED, fixture.last(Decision.Complete.class).outcome().state());
    assertEquals("the user pressed Ctrl-C", fixture.failure());
  }

  private static CoordinatorStateFixture fixture(int servers, boolean lockstep, long endsEvery) {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.config(servers, 2, 4_096, lockstep, endsEvery, AT_90));
    if (servers > 0) {
      return fixture.started(servers, 2);
    }
    fixture.join(Role.WORKER);
    fixture.join(Role.WORKER);
    return fixture;
  }

  private static void reportTest(CoordinatorStateFixture fixture, double accuracy) {
    fixture.coordinator.onTest(new Evaluated(0, 10, 1_152, 0.3, accuracy, false, ""));
  }

  private static void reply(
      CoordinatorStateFixture fixture, Admission worker, long number, long begun) {
    fixture.coordinator.pauseReply(worker, number, begun);
  }
}
