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

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 3, true)).started(1, 3);

  @Test
  void shouldPauseTheLastWorkerUntilAnotherJoins() {
    leaves(THIRD);
    assertTrue(fixture.all(Hold.class).isEmpty(), "two are enough");

    leaves(SECOND);
    assertEquals(new Pause(1, 0), fixture.last(Hold.class).pause());
    assertEquals(JobPhase.RUNNING, fixture.coordinator.state());
    fixture.join(Role.WORKER);
    fixture.acceptAll();

    assertEquals(new Pause(2, Long.MAX_VALUE), fixture.last(Hold.class).pause());
    fixture.advance(120_000);
    assertEquals(JobPhase.RUNNING, fixture.coordinator.state(), "nobody waits any more");
  }

  @Test
  void shouldReportTheMissingWorkersOnce() {
    fixture.setStatus(
        new Admission(Role.WORKER, 0, 0), ControlCodec.status(new JsonObject().put("step", 5)));
    leaves(THIRD);
    leaves(SECOND);
    fixture.advance(40_000);

    assertEquals(1, fixture.events(StallFound.class).size());
    StallFound stall = fixture.events(StallFound.class).get(0);
    assertEquals("worker 1, worker 2", stall.missing());
    assertEquals(
        "1 of at least 2 workers (workers.minimum), none begins another step until more are there",
        stall.waits());
  }

  @Test
  void shouldNameTheMembersThatLeftWhenNobodyReplacesThem() {
    leaves(THIRD);
    leaves(SECOND);

    fixture.advance(60_200);

    assertEquals(
        "1 of at least 2 workers for 60 s (workers.minimum): worker 2 at nowhere: lost; worker 1 at"
            + " nowhere: lost",
        fixture.failure());
  }

  @Test
  void shouldFinishTheStartedRoundBeforeAPause() {
    leaves(THIRD);
    leaves(SECOND);

    fixture.coordinator.pauseReply(new Admission(Role.WORKER, 0, 0), 1, 18);

    assertEquals(new Pause(2, 18), fixture.last(Hold.class).pause());
  }

  @Test
  void shouldStayStoppedWhenOneOfTwoReasonsRemains() {
    fixture.coordinator.pause();
    leaves(THIRD);
    leaves(SECOND);

    fixture.coordinator.resume();
    assertTrue(fixture.coordinator.newestPause().holds(), "there are still too few");
    fixture.coordinator.pause();
    fixture.join(Role.WORKER);
    assertTrue(fixture.coordinator.newestPause().holds(), "somebody paused it");
    fixture.coordinator.resume();

    assertFalse(fixture.coordinator.newestPause().holds());
  }

  private void leaves(Admission worker) {
    fixture.coordinator.leave(worker, LeaveReason.read("lost"), MemberStatus.NONE);
    fixture.acceptAll();
  }
}
