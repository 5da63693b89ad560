package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.EvaluationSkipped;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.json.JsonObject;
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

  private final CoordinatorStateFixture stage = stage();

  @Test
  void shouldLetTrainingGoOnToTheNextTestWhenAVersionWasTested() {
    reach(1);
    stage.says(EVALUATOR, tests(1, 0, 0));
    assertEquals(new Pause(1, Long.MAX_VALUE, 1, true, false, 0), word());
    assertTrue(word().stopsClocks());

    stage.says(EVALUATOR, tests(1, 1, 500));

    assertEquals(new Pause(2, Long.MAX_VALUE, 11, false, false, 0), word());
    stage.says(EVALUATOR, tests(1, 1, 500));
    assertEquals(2, stage.all(Hold.class).size(), "a status that is repeated says nothing new");
  }

  /**
   * Nobody passes a version that waits for its test, so version 11 was tested before the resume.
   */
  @Test
  void shouldNotWaitForATestThatLiesBehindAResumedRun() {
    stage.says(
        new Admission(Role.SERVER, 0, 0), MemberStatus.ofServer(15, 0, true, Optional.empty()));

    stage.pass(200);

    assertEquals(21, word().testAt());
    assertFalse(word().testing());
  }

  /** An evaluator's status may arrive before the event with the result. */
  @Test
  void shouldHoldUntilTheResultIsThereWhereItMayEndTheJob() {
    StopConfig stop =
        new StopConfig(OptionalDouble.of(99), OptionalDouble.empty(), OptionalDouble.empty());
    CoordinatorStateFixture ends =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.waitingForTests(
                CoordinatorStateFixture.config(1, 2, 4096, true, 1, stop)));
    ends.join(Role.EVALUATOR);
    ends.started(1, 2);
    ends.says(EVALUATOR, tests(1, 0, 0));

    ends.says(EVALUATOR, tests(1, 1, 500));
    assertEquals(1, ends.last(Hold.class).pause().testAt());
    ends.coordinator.onTest(new Evaluated(0, 1, 500, 0.3, 50, false, ""));

    assertEquals(11, ends.last(Hold.class).pause().testAt());
  }

  @Test
  void shouldWaitForASlowTestAndCallItNoStall() {
    reach(1);
    for (int samples = 0; samples < 40; samples++) {
      stage.repeats(EVALUATOR, tests(1, 0, samples));
      stage.pass(10_000);
    }

    assertTrue(stage.events(EvaluationSkipped.class).isEmpty());
    assertTrue(stage.events(StallFound.class).isEmpty());
  }

  @Test
  void shouldNameAnEvaluatorThatHangsAndGoOnWithoutIt() {
    reach(1);
    stage.repeats(EVALUATOR, tests(1, 0, 128));

    stage.pass(LIMIT - 1_000);
    assertTrue(stage.events(EvaluationSkipped.class).isEmpty());
    assertTrue(
        stage.events(StallFound.class).get(0).missing().contains("evaluator 0"),
        stage.events(StallFound.class).toString());
    stage.pass(2_000);

    EvaluationSkipped skipped = stage.events(EvaluationSkipped.class).get(0);
    assertEquals(1, skipped.version());
    assertTrue(skipped.reason().contains("evaluator 0"), skipped.reason());
    assertTrue(skipped.reason().contains("60.0 s (exchange.deadlineMillis)"), skipped.reason());
    assertEquals(EvaluationPlan.NONE, word().testAt());
    assertFalse(word().stopsClocks());
  }

  @Test
  void shouldWaitAgainForAnEvaluatorThatIsBack() {
    shouldNameAnEvaluatorThatHangsAndGoOnWithoutIt();
    reach(37);

    stage.says(EVALUATOR, tests(1, 37, 600));

    assertEquals(41, word().testAt());
  }

  @Test
  void shouldGoOnWhenTheEvaluatorDies() {
    reach(11);
    stage.says(EVALUATOR, tests(1, 1, 500));
    stage.says(EVALUATOR, tests(11, 1, 600));
    assertTrue(word().testing());

    stage.silence(EVALUATOR);
    stage.pass(10_200);

    EvaluationSkipped skipped = stage.events(EvaluationSkipped.class).get(0);
    assertEquals(11, skipped.version());
    assertEquals("no evaluator takes part", skipped.reason());
    assertEquals(EvaluationPlan.NONE, word().testAt());
    assertFalse(word().testing());
  }

  @Test
  void shouldCountNoTimeWhileWorkersAreStillOnTheirWay() {
    stage.repeats(FIRST, ControlCodec.status(new JsonObject().put("step", 0).put("version", 0)));
    stage.repeats(SECOND, ControlCodec.status(new JsonObject().put("step", 0).put("version", 0)));

    stage.pass(3 * LIMIT);

    assertTrue(stage.events(EvaluationSkipped.class).isEmpty());
  }

  @Test
  void shouldKeepTheTestWhenTheJobIsPausedMeanwhile() {
    reach(1);
    stage.says(EVALUATOR, tests(1, 0, 0));
    stage.coordinator.pause();
    assertEquals(new Pause(2, 0, 1, true, false, 0), word());
    stage.pass(2 * LIMIT);
    assertTrue(stage.events(EvaluationSkipped.class).isEmpty(), "nothing counts in a pause");

    stage.coordinator.resume();

    assertEquals(new Pause(3, Long.MAX_VALUE, 1, true, false, 0), word());
  }

  private Pause word() {
    return stage.last(Hold.class).pause();
  }

  private void reach(long version) {
    MemberStatus status =
        ControlCodec.status(new JsonObject().put("step", version).put("version", version));
    stage.repeats(FIRST, status);
    stage.repeats(SECOND, status);
    stage.says(FIRST, status);
    stage.says(SECOND, status);
  }

  private static MemberStatus tests(long testing, long evaluated, long samples) {
    return ControlCodec.status(
        new JsonObject()
            .put("testing", testing)
            .put("evaluated", evaluated)
            .put("tested", samples));
  }

  private static CoordinatorStateFixture stage() {
    CoordinatorStateFixture stage =
        new CoordinatorStateFixture(
            CoordinatorStateFixture.waitingForTests(CoordinatorStateFixture.config(1, 2, true)));
    stage.join(Role.EVALUATOR);
    return stage.started(1, 2);
  }
}
