package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

/** Tests a job of one server and two workers that is paused. */
final class CoordinatorStatePauseTest {

  private static final Admission FIRST = new Admission(Role.WORKER, 0, 0);
  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
  private final ControlRequestHandler desk = new ControlRequestHandler(stage.coordinator);

  @Test
  void shouldLetEveryoneFinishTheFurthestRoundThatWasBegun() {
    assertEquals("paused", ask("pause").getString("state"));
    assertEquals(new Pause(1, 0), stage.last(Hold.class).pause());

    says(FIRST, 1, 18);
    assertEquals(new Pause(2, 18), stage.last(Hold.class).pause());
    says(SECOND, 1, 19);
    assertEquals(new Pause(3, 19), stage.last(Hold.class).pause());
    says(FIRST, 3, 19);
    says(SECOND, 3, 19);

    assertEquals(3, stage.all(Hold.class).size());
    assertEquals(1, stage.events(JobPaused.class).size());
  }

  @Test
  void shouldNotHeedWhatWasBegunBeforeAnEarlierPause() {
    ask("pause");
    says(FIRST, 1, 18);
    ask("resume");
    assertFalse(stage.last(Hold.class).pause().holds());

    ask("pause");
    says(FIRST, 2, 18);
    assertEquals(new Pause(4, 0), stage.last(Hold.class).pause());
    says(FIRST, 4, 25);

    assertEquals(new Pause(5, 25), stage.last(Hold.class).pause());
  }

  @Test
  void shouldHoldEveryoneAtOnceWhereNobodyWaitsForOthers() {
    CoordinatorStateFixture async =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, false)).started(1, 2);
    async.coordinator.pause();

    async.coordinator.pauseReply(FIRST, 1, 18);

    assertEquals(1, async.all(Hold.class).size());
  }

  @Test
  void shouldTellWithAHeartbeatWhoeverMissedThePause() {
    ask("pause");

    JsonObject late = says(FIRST, 0, 7);
    JsonObject current = says(FIRST, 1, 0);

    assertEquals(new Pause(1, 0), ControlCodec.pause(late.getJsonObject("pause")));
    assertFalse(current.containsKey("pause"));
    assertEquals("paused", current.getString("state"));
  }

  @Test
  void shouldLetNoLimitPassAndEvictWhoDies() {
    stage.repeats(FIRST, ControlCodec.status(new JsonObject().put("step", 5)));
    stage.repeats(SECOND, ControlCodec.status(new JsonObject().put("step", 5)));
    ask("pause");
    stage.pass(40_000);
    assertTrue(stage.events(StallFound.class).isEmpty());

    stage.silence(SECOND);
    stage.pass(10_100);
    stage.acceptAll();
    assertEquals(1, stage.events(MemberLeft.class).size());
    assertEquals(1, stage.published().workers().size());
    stage.pass(300_000);

    assertEquals(JobPhase.PAUSED, stage.coordinator.state(), "one of at least two workers is here");
    ask("resume");
    stage.pass(60_200);
    assertTrue(stage.failure().startsWith("1 of at least 2 workers for 60 s"), stage.failure());
  }

  @Test
  void shouldLetANewcomerWaitUntilTheJobGoesOn() {
    ask("pause");
    Admission third = stage.join(Role.WORKER);
    stage.acceptAll();
    stage.pass(5_000);
    assertFalse(stage.published().hasWorker(third.rank(), 0));
    assertTrue(stage.published().hasWorker(SECOND.rank(), 0));

    ask("resume");
    stage.pass(100);
    stage.acceptAll();

    assertTrue(stage.published().hasWorker(third.rank(), 0));
    assertEquals(5_000, stage.events(JobResumed.class).get(0).pausedMillis());
  }

  @Test
  void shouldStopAndSaveDuringAPause() {
    ask("pause");

    assertFalse(ask("checkpoint").containsKey("refused"));
    assertFalse(ask("stop").containsKey("refused"));

    assertEquals(1, stage.all(Decision.Save.class).size());
    assertEquals(JobPhase.STOPPED, stage.coordinator.state());
  }

  @Test
  void shouldRefuseWhatMakesNoSense() {
    ControlRequestHandler early =
        new ControlRequestHandler(
            new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).coordinator);

    assertEquals(
        "the job is waiting, it cannot be paused",
        early.answer(new JsonObject().put("request", "pause")).getString("refused"));
    assertEquals("the job is running, not paused", ask("resume").getString("refused"));
  }

  private JsonObject ask(String request) {
    return desk.answer(new JsonObject().put("request", request));
  }

  private JsonObject says(Admission worker, long number, long begun) {
    return desk.answer(
        ControlCodec.write(worker)
            .put("request", "heartbeat")
            .put("epoch", 1)
            .put("status", new JsonObject())
            .put("pause", new JsonObject().put("number", number).put("begun", begun)));
  }
}
