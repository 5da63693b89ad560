package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

/**
 * Tests a job of one server and two workers that waits for tests of versions 1, 11, 21 and so on.
 */
final class BlockingTestsTest {

  private static final Admission FIRST = new Admission(Role.WORKER, 0, 0);
  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);
  private static final Admission EVALUATOR = new Admission(Role.EVALUATOR, 0, 0);
  private static final long LIMIT = 60_000;

  private final CoordinatorStateFixture fixture = fixture();

  @Test
  void shouldContinueTrainingToTheNextTestWhenAVersionWasTested() {
    reportVersion(1);
    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 0, 0));
    assertEquals(new Pause(1, Long.MAX_VALUE, 1, true, false, List.of()), lastPause());
    assertTrue(lastPause().stopsClocks());

    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 1, 500));

    assertEquals(new Pause(2, Long.MAX_VALUE, 11, false, false, List.of()), lastPause());
    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 1, 500));
    assertEquals(2, fixture.all(Hold.class).size(), "a status that is repeated says nothing new");
  }

  @Test
  void shouldKeepTheFirstTestWhenThereIsAnotherInstructionBeforeIt() {
    fixture.coordinator.pause();
    fixture.coordinator.resume();

    assertEquals(1, lastPause().testAt());
  }

  /**
   * Nobody passes a version that waits for its test, so version 11 was tested before the resume.
   */
  @Test
  void shouldNotWaitForATestThatLiesBehindAResumedRun() {
    fixture.heartbeat(
        new Admission(Role.SERVER, 0, 0),
        new ServerStatus(15, 0, true, 0, Optional.empty(), Optional.empty()));

    fixture.advance(200);

    assertEquals(21, lastPause().testAt());
    assertFalse(lastPause().testing());
  }

  /** An evaluator's status may arrive before the event with the result. */
  @Test
  void shouldDelayTrainingUntilATestThatMayEndTheJobIsThere() {
    StopConfig stop =
        new StopConfig(OptionalDouble.of(99), OptionalDouble.empty(), OptionalDouble.empty());
    CoordinatorStateFixture ends =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.waitingForTests(
                CoordinatorStateFixture.config(1, 2, 4096, true, 1, stop)));
    ends.join(Role.EVALUATOR);
    ends.started(1, 2);
    ends.heartbeat(EVALUATOR, evaluatorStatus(1, 0, 0));

    ends.heartbeat(EVALUATOR, evaluatorStatus(1, 1, 500));
    assertEquals(1, ends.last(Hold.class).pause().testAt());
    ends.coordinator.onTest(new Evaluated(0, 1, 500, 0.3, 50, false, ""));

    assertEquals(11, ends.last(Hold.class).pause().testAt());
  }

  @Test
  void shouldWaitForASlowTestAndCallItNoStall() {
    reportVersion(1);
    for (int samples = 0; samples < 40; samples++) {
      fixture.setStatus(EVALUATOR, evaluatorStatus(1, 0, samples));
      fixture.advance(10_000);
    }

    assertTrue(fixture.events(EvaluationSkipped.class).isEmpty());
    assertTrue(fixture.events(StallFound.class).isEmpty());
  }

  @Test
  void shouldNameAHangingEvaluatorAndContinueWithoutIt() {
    reportVersion(1);
    fixture.setStatus(EVALUATOR, evaluatorStatus(1, 0, 128));

    fixture.advance(LIMIT - 1_000);
    assertTrue(fixture.events(EvaluationSkipped.class).isEmpty());
    assertTrue(
        fixture.events(StallFound.class).get(0).missing().contains("evaluator 0"),
        fixture.events(StallFound.class).toString());
    fixture.advance(2_000);

    EvaluationSkipped skipped = fixture.events(EvaluationSkipped.class).get(0);
    assertEquals(1, skipped.version());
    assertTrue(skipped.reason().contains("evaluator 0"), skipped.reason());
    assertTrue(skipped.reason().contains("60.0 s (exchange.deadlineMillis)"), skipped.reason());
    assertEquals(EvaluationPlan.NONE, lastPause().testAt());
    assertFalse(lastPause().stopsClocks());
  }

  @Test
  void shouldWaitAgainForAnEvaluatorThatIsBack() {
    shouldNameAHangingEvaluatorAndContinueWithoutIt();
    reportVersion(37);

    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 37, 600));

    assertEquals(41, lastPause().testAt());
  }

  @Test
  void shouldContinueWhenTheEvaluatorDies() {
    reportVersion(11);
    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 1, 500));
    fixture.heartbeat(EVALUATOR, evaluatorStatus(11, 1, 600));
    assertTrue(lastPause().testing());

    fixture.silence(EVALUATOR);
    fixture.advance(10_200);

    EvaluationSkipped skipped = fixture.events(EvaluationSkipped.class).get(0);
    assertEquals(11, skipped.version());
    assertEquals("no evaluator takes part", skipped.reason());
    assertEquals(EvaluationPlan.NONE, lastPause().testAt());
    assertFalse(lastPause().testing());
  }

  @Test
  void shouldCountNoTimeWhileWorkersAreStarting() {
    fixture.setStatus(
        FIRST, ControlCodec.status(new JsonObject().put("step", 0).put("version", 0)));
    fixture.setStatus(
        SECOND, ControlCodec.status(new JsonObject().put("step", 0).put("version", 0)));

    fixture.advance(3 * LIMIT);

    assertTrue(fixture.events(EvaluationSkipped.class).isEmpty());
  }

  @Test
  void shouldKeepTheTestWhenTheJobIsPaused() {
    reportVersion(1);
    fixture.heartbeat(EVALUATOR, evaluatorStatus(1, 0, 0));
    fixture.coordinator.pause();
    assertEquals(new Pause(2, 0, 1, true, false, List.of()), lastPause());
    fixture.advance(2 * LIMIT);
    assertTrue(fixture.events(EvaluationSkipped.class).isEmpty(), "nothing counts in a pause");

    fixture.coordinator.resume();

    assertEquals(new Pause(3, Long.MAX_VALUE, 1, true, false, List.of()), lastPause());
  }

  private Pause lastPause() {
    return fixture.last(Hold.class).pause();
  }

  private void reportVersion(long version) {
    MemberStatus status =
        ControlCodec.status(new JsonObject().put("step", version).put("version", version));
    fixture.setStatus(FIRST, status);
    fixture.setStatus(SECOND, status);
    fixture.heartbeat(FIRST, status);
    fixture.heartbeat(SECOND, status);
  }

  private static MemberStatus evaluatorStatus(long testing, long evaluated, long samples) {
    return ControlCodec.status(
        new JsonObject()
            .put("testing", testing)
            .put("evaluated", evaluated)
            .put("tested", samples));
  }

  private static CoordinatorStateFixture fixture() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.waitingForTests(CoordinatorStateFixture.config(1, 2, true)));
    fixture.join(Role.EVALUATOR);
    return fixture.started(1, 2);
  }
}
