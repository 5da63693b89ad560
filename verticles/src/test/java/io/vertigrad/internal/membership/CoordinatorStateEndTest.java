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
  void shouldEndAfterTheFurthestRoundThatWasBegun() {
    CoordinatorStateFixture stage = stage(1, true, 1);

    test(stage, 91);
    assertEquals(new Pause(1, 0), stage.last(Hold.class).pause());
    hears(stage, FIRST, 1, 18);
    hears(stage, SECOND, 1, 19);
    hears(stage, FIRST, 3, 18);
    assertFalse(stage.last(Hold.class).pause().ends(), "the second has not heard of 19");
    hears(stage, SECOND, 3, 19);

    assertEquals(
        new Pause(4, 19, EvaluationPlan.NONE, false, true, 0), stage.last(Hold.class).pause());
    assertEquals(List.of(new JobEnding(0, "accuracy", 90, 91, 10)), stage.events(JobEnding.class));
    stage.coordinator.leave(
        FIRST,
        LeaveReason.read("finished"),
        ControlCodec.status(new JsonObject().put("version", 19)));
    assertTrue(stage.all(Conclude.class).isEmpty());
    stage.coordinator.leave(SECOND, LeaveReason.read("finished"), MemberStatus.NONE);
    assertEquals(19, stage.last(Conclude.class).version());
    stage.coordinator.concluded(List.of(), List.of(), Optional.empty());
    assertEquals(
        "{\"reason\":\"accuracy\",\"threshold\":90.0,\"value\":91.0,\"version\":10}",
        ControlCodec.write(stage.last(Decision.Complete.class).outcome())
            .getJsonObject("stopped")
            .encode());
  }

  @Test
  void shouldAdmitAServerThatComesBackWithTheModelAfterTheEnd() {
    CoordinatorStateFixture stage = finishing();
    stage.coordinator.concluded(List.of(), List.of(), Optional.empty());

    stage.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus saved = MemberStatus.ofServer(1_000, 9, true, Optional.empty());
    Admission replacement = stage.join(Role.SERVER, FakeMember.LAYOUT, saved);
    stage.acceptAll();

    assertEquals(new Admission(Role.SERVER, 0, 1), replacement);
    assertEquals(1, stage.published().server(0).orElseThrow().incarnation());
    assertThrows(JoinException.class, () -> stage.join(Role.WORKER), "nobody trains any more");
  }

  @Test
  void shouldFailWhenAServerComesBackWithoutTheLastVersionAndNobodyCanRepeatIt() {
    CoordinatorStateFixture stage = finishing();

    stage.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus older = MemberStatus.ofServer(980, 9, true, Optional.empty());
    stage.join(Role.SERVER, FakeMember.LAYOUT, older);

    assertTrue(stage.failure().contains("before version 1000 was on its disk"), stage.failure());
    assertTrue(stage.failure().contains("server 0"), stage.failure());
  }

  @Test
  void shouldAdmitWorkersAgainWhenAServerThatReachedTheLastVersionWentBackBeforeAnybodyLeft() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    stage.says(SERVER, MemberStatus.ofServer(1_000, 9, false, Optional.empty()));
    stage.coordinator.leave(SERVER, LeaveReason.lost("killed"), MemberStatus.NONE);
    MemberStatus older = MemberStatus.ofServer(980, 9, true, Optional.empty());
    stage.coordinator.leave(SECOND, LeaveReason.lost("joins again"), MemberStatus.NONE);
    assertThrows(JoinException.class, () -> stage.join(Role.WORKER), "all steps are made");

    stage.join(Role.SERVER, FakeMember.LAYOUT, older);

    assertEquals(new Admission(Role.WORKER, 1, 1), stage.join(Role.WORKER));
  }

  private static CoordinatorStateFixture finishing() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    MemberStatus last = ControlCodec.status(new JsonObject().put("version", 1_000));
    stage.coordinator.leave(FIRST, LeaveReason.read("finished"), last);
    stage.coordinator.leave(SECOND, LeaveReason.read("finished"), last);
    assertEquals(1, stage.all(Conclude.class).size());
    return stage;
  }

  /** The model of a job without servers is the mean of all replicas. */
  @Test
  void shouldAdmitAReplacementWhenAWorkerIsLostWhileAnotherIsAtTheLastVersion() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(0, 2, true));
    stage.join(Role.WORKER);
    stage.join(Role.WORKER);
    MemberStatus atTheEnd = ControlCodec.status(new JsonObject().put("version", 1_000));
    stage.repeats(FIRST, atTheEnd);
    stage.pass(200);

    stage.coordinator.leave(SECOND, LeaveReason.lost("killed"), MemberStatus.NONE);
    stage.silence(SECOND);
    stage.pass(1_000);
    assertTrue(stage.all(Conclude.class).isEmpty(), "one of two replicas is not the model");
    Admission replacement = stage.join(Role.WORKER);
    assertEquals(new Admission(Role.WORKER, 1, 1), replacement);
    stage.repeats(replacement, atTheEnd);
    stage.pass(200);

    assertEquals(1_000, stage.last(Conclude.class).version());
  }

  @Test
  void shouldEndAtOnceWhereNobodyWaitsForOthers() {
    CoordinatorStateFixture stage = stage(1, false, 1);

    test(stage, 90);

    assertEquals(
        new Pause(2, 0, EvaluationPlan.NONE, false, true, 0), stage.last(Hold.class).pause());
  }

  @Test
  void shouldEndWhereReplicasAgreeWhenTheyRestThere() {
    CoordinatorStateFixture stage = stage(0, true, 10);

    test(stage, 90);
    hears(stage, FIRST, 1, 18);
    hears(stage, FIRST, 2, 18);
    hears(stage, SECOND, 2, 17);
    assertEquals(
        new Pause(3, 20, EvaluationPlan.NONE, false, true, 0), stage.last(Hold.class).pause());
    stage.repeats(
        FIRST, ControlCodec.status(new JsonObject().put("version", 20).put("ended", true)));
    stage.pass(2_000);
    assertEquals(JobPhase.ENDING, stage.coordinator.state());
    stage.repeats(
        SECOND, ControlCodec.status(new JsonObject().put("version", 20).put("ended", true)));
    stage.pass(200);

    assertEquals(20, stage.last(Conclude.class).version());
    assertEquals(List.of(), stage.events(StallFound.class));
  }

  @Test
  void shouldEndAfterTenMinutesOfTrainingWhenPauseIsLeftOut() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    stage.pass(300_000);
    stage.coordinator.pause();
    stage.pass(600_000);
    stage.coordinator.resume();
    stage.pass(100);
    stage.acceptAll();
    stage.pass(299_000);
    assertEquals(List.of(), stage.events(JobEnding.class));

    stage.pass(1_500);

    JobEnding ending = stage.events(JobEnding.class).get(0);
    assertEquals("minutes", ending.reason());
    assertEquals(10, ending.value(), 0.01);
  }

  @Test
  void shouldNotEndTwiceNorForATestOfTheFirstOrLastVersion() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    stage.coordinator.onTest(new Evaluated(0, 0, 10, 0.1, 99, true, ""));
    stage.coordinator.onTest(new Evaluated(0, 1_000, 10, 0.1, 99, true, ""));
    assertEquals(JobPhase.RUNNING, stage.coordinator.state());

    test(stage, 91);
    test(stage, 92);

    assertEquals(1, stage.events(JobEnding.class).size());
    assertFalse(stage.coordinator.pause());
    assertFalse(stage.coordinator.resume());
  }

  @Test
  void shouldEndAPausedJobAndSayThatThePauseIsOver() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    stage.coordinator.pause();

    test(stage, 91);
    hears(stage, FIRST, 1, 5);
    hears(stage, FIRST, 2, 5);
    hears(stage, SECOND, 2, 5);

    assertEquals(1, stage.events(JobResumed.class).size());
    assertEquals(
        new Pause(3, 5, EvaluationPlan.NONE, false, true, 0), stage.last(Hold.class).pause());
  }

  @Test
  void shouldRefuseNewcomersAndNotWaitForThoseWhoCame() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    Admission third = stage.join(Role.WORKER);
    stage.acceptAll();
    assertTrue(stage.published().hasWorker(third.rank(), 0));

    test(stage, 91);
    hears(stage, FIRST, 1, 0);
    hears(stage, SECOND, 1, 0);
    hears(stage, third, 1, 0);

    assertEquals(Optional.empty(), stage.coordinator.membership().worker(9));
    JoinException late = assertThrows(JoinException.class, () -> stage.join(Role.WORKER));
    assertTrue(late.late());
    stage.coordinator.leave(FIRST, LeaveReason.read("finished"), MemberStatus.NONE);
    stage.coordinator.leave(SECOND, LeaveReason.read("finished"), MemberStatus.NONE);
    assertEquals(1, stage.all(Conclude.class).size(), "the third's first round never comes");
  }

  @Test
  void shouldFailAndNameWhoDoesNotFinishItsStep() {
    CoordinatorStateFixture stage = stage(1, true, 1);
    test(stage, 91);

    stage.pass(60_500);

    assertEquals(
        "the job was to end early, but for 60 s nothing came of the steps that had begun; missing:"
            + " worker 0 at nowhere, worker 1 at nowhere",
        stage.failure());
  }

  @Test
  void shouldReportTheReasonWhenItIsStopped() {
    CoordinatorStateFixture stage = stage(1, true, 1);

    stage.coordinator.stop("the user pressed Ctrl-C");

    assertEquals(JobPhase.STOPPED, stage.last(Decision.Complete.class).outcome().state());
    assertEquals("the user pressed Ctrl-C", stage.failure());
  }

  private static CoordinatorStateFixture stage(int servers, boolean lockstep, long endsEvery) {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.config(servers, 2, 4_096, lockstep, endsEvery, AT_90));
    if (servers > 0) {
      return stage.started(servers, 2);
    }
    stage.join(Role.WORKER);
    stage.join(Role.WORKER);
    return stage;
  }

  private static void test(CoordinatorStateFixture stage, double accuracy) {
    stage.coordinator.onTest(new Evaluated(0, 10, 1_152, 0.3, accuracy, false, ""));
  }

  private static void hears(
      CoordinatorStateFixture stage, Admission worker, long number, long begun) {
    stage.coordinator.pauseReply(worker, number, begun);
  }
}
