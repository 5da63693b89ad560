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

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
  private final ControlRequestHandler handler = new ControlRequestHandler(fixture.coordinator);

  @Test
  void shouldFinishTheLastStartedRoundOfAllWorkers() {
    assertEquals("paused", request("pause").getString("state"));
    assertEquals(new Pause(1, 0), fixture.last(Hold.class).pause());

    heartbeat(FIRST, 1, 18);
    assertEquals(new Pause(2, 18), fixture.last(Hold.class).pause());
    heartbeat(SECOND, 1, 19);
    assertEquals(new Pause(3, 19), fixture.last(Hold.class).pause());
    heartbeat(FIRST, 3, 19);
    heartbeat(SECOND, 3, 19);

    assertEquals(3, fixture.all(Hold.class).size());
    assertEquals(1, fixture.events(JobPaused.class).size());
  }

  @Test
  void shouldNotBeAtRestBeforeTheLastStartedRoundIsFinished() {
    request("pause");
    heartbeat(FIRST, 1, 18);
    heartbeat(FIRST, 2, 18);
    assertTrue(fixture.coordinator.isAtRest(FIRST, new StepState(18, 2, true)));

    heartbeat(SECOND, 1, 19);
    assertFalse(
        fixture.coordinator.isAtRest(FIRST, new StepState(18, 2, true)),
        "it has not heard of the round that the other has started");
    assertFalse(
        fixture.coordinator.isAtRest(FIRST, new StepState(18, 3, true)), "its reply is not known");
    heartbeat(FIRST, 3, 19);
    assertFalse(fixture.coordinator.isAtRest(FIRST, new StepState(18, 3, false)));
    assertTrue(fixture.coordinator.isAtRest(FIRST, new StepState(19, 3, true)));
  }

  @Test
  void shouldIgnoreStepsThatStartedBeforeAnEarlierPause() {
    request("pause");
    heartbeat(FIRST, 1, 18);
    request("resume");
    assertFalse(fixture.last(Hold.class).pause().holds());

    request("pause");
    heartbeat(FIRST, 2, 18);
    assertEquals(new Pause(4, 0), fixture.last(Hold.class).pause());
    heartbeat(FIRST, 4, 25);

    assertEquals(new Pause(5, 25), fixture.last(Hold.class).pause());
  }

  @Test
  void shouldPauseAllWorkersAtOnceInStrategiesWithoutRounds() {
    CoordinatorStateFixture async =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, false)).started(1, 2);
    async.coordinator.pause();

    async.coordinator.pauseReply(FIRST, 1, 18);

    assertEquals(1, async.all(Hold.class).size());
  }

  @Test
  void shouldSendThePauseInTheHeartbeatAnswerWhenItWasMissed() {
    request("pause");

    JsonObject late = heartbeat(FIRST, 0, 7);
    JsonObject current = heartbeat(FIRST, 1, 0);

    assertEquals(new Pause(1, 0), ControlCodec.pause(late.getJsonObject("pause")));
    assertFalse(current.containsKey("pause"));
    assertEquals("paused", current.getString("state"));
  }

  @Test
  void shouldPassNoLimitInAPauseButEvictTheDead() {
    fixture.setStatus(FIRST, ControlCodec.status(new JsonObject().put("step", 5)));
    fixture.setStatus(SECOND, ControlCodec.status(new JsonObject().put("step", 5)));
    request("pause");
    fixture.advance(40_000);
    assertTrue(fixture.events(StallFound.class).isEmpty());

    fixture.silence(SECOND);
    fixture.advance(10_100);
    fixture.acceptAll();
    assertEquals(1, fixture.events(MemberLeft.class).size());
    assertEquals(1, fixture.published().workers().size());
    fixture.advance(300_000);

    assertEquals(
        JobPhase.PAUSED, fixture.coordinator.state(), "one of at least two workers is here");
    request("resume");
    fixture.advance(60_200);
    assertTrue(fixture.failure().startsWith("1 of at least 2 workers for 60 s"), fixture.failure());
  }

  @Test
  void shouldDelayANewcomerUntilThePauseEnds() {
    request("pause");
    Admission third = fixture.join(Role.WORKER);
    fixture.acceptAll();
    fixture.advance(5_000);
    assertFalse(fixture.published().hasWorker(third.rank(), 0));
    assertTrue(fixture.published().hasWorker(SECOND.rank(), 0));

    request("resume");
    fixture.advance(100);
    fixture.acceptAll();

    assertTrue(fixture.published().hasWorker(third.rank(), 0));
    assertEquals(5_000, fixture.events(JobResumed.class).get(0).pausedMillis());
  }

  @Test
  void shouldStopAndSaveDuringAPause() {
    request("pause");

    assertFalse(request("checkpoint").containsKey("refused"));
    assertFalse(request("stop").containsKey("refused"));

    assertEquals(1, fixture.all(Decision.Save.class).size());
    assertEquals(JobPhase.STOPPED, fixture.coordinator.state());
  }

  @Test
  void shouldRefusePauseAndResumeInTheWrongPhase() {
    ControlRequestHandler early =
        new ControlRequestHandler(
            new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).coordinator);

    assertEquals(
        "the job is waiting, it cannot be paused",
        early.answer(new JsonObject().put("request", "pause")).getString("refused"));
    assertEquals("the job is running, not paused", request("resume").getString("refused"));
  }

  private JsonObject request(String request) {
    return handler.answer(new JsonObject().put("request", request));
  }

  private JsonObject heartbeat(Admission worker, long number, long begun) {
    return handler.answer(
        ControlCodec.write(worker)
            .put("request", "heartbeat")
            .put("epoch", 1)
            .put("status", new JsonObject())
            .put("pause", new JsonObject().put("number", number).put("begun", begun)));
  }
}
