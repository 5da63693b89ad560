package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

/** Tests a job of one server and three workers that needs two of them. */
final class CoordinatorStateMinimumTest {

  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);
  private static final Admission THIRD = new Admission(Role.WORKER, 2, 0);

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 3, true)).started(1, 3);

  @Test
  void shouldHoldTheLastOneBackUntilAnotherIsThere() {
    leaves(THIRD);
    assertTrue(stage.all(Hold.class).isEmpty(), "two are enough");

    leaves(SECOND);
    assertEquals(new Pause(1, 0), stage.last(Hold.class).pause());
    assertEquals(JobPhase.RUNNING, stage.coordinator.state());
    stage.join(Role.WORKER);
    stage.acceptAll();

    assertEquals(new Pause(2, Long.MAX_VALUE), stage.last(Hold.class).pause());
    stage.pass(120_000);
    assertEquals(JobPhase.RUNNING, stage.coordinator.state(), "nobody waits any more");
  }

  @Test
  void shouldSayOnceWhoIsMissingAndReportNoStall() {
    stage.repeats(
        new Admission(Role.WORKER, 0, 0), ControlCodec.status(new JsonObject().put("step", 5)));
    leaves(THIRD);
    leaves(SECOND);
    stage.pass(40_000);

    assertEquals(1, stage.events(StallFound.class).size());
    StallFound told = stage.events(StallFound.class).get(0);
    assertEquals("worker 1, worker 2", told.missing());
    assertEquals(
        "1 of at least 2 workers (workers.minimum), none begins another step until more are there",
        told.waits());
  }

  @Test
  void shouldFailNamingWhoLeftWhenNobodyComes() {
    leaves(THIRD);
    leaves(SECOND);

    stage.pass(60_200);

    assertEquals(
        "1 of at least 2 workers for 60 s (workers.minimum): worker 2 at nowhere: lost; worker 1 at"
            + " nowhere: lost",
        stage.failure());
  }

  @Test
  void shouldLetTheRoundThatWasBegunBeFinished() {
    leaves(THIRD);
    leaves(SECOND);

    stage.coordinator.pauseReply(new Admission(Role.WORKER, 0, 0), 1, 18);

    assertEquals(new Pause(2, 18), stage.last(Hold.class).pause());
  }

  @Test
  void shouldStayHeldWhenOnlyOneOfTwoReasonsIsGone() {
    stage.coordinator.pause();
    leaves(THIRD);
    leaves(SECOND);

    stage.coordinator.resume();
    assertTrue(stage.coordinator.newestPause().holds(), "there are still too few");
    stage.coordinator.pause();
    stage.join(Role.WORKER);
    assertTrue(stage.coordinator.newestPause().holds(), "somebody paused it");
    stage.coordinator.resume();

    assertFalse(stage.coordinator.newestPause().holds());
  }

  private void leaves(Admission worker) {
    stage.coordinator.leave(worker, LeaveReason.read("lost"), MemberStatus.NONE);
    stage.acceptAll();
  }
}
