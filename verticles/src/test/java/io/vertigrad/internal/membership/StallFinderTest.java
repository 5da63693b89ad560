package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.StallFound;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests workers that take no step; the limit is 15 s. */
final class StallFinderTest {

  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);
  private static final Admission FIRST = new Admission(Role.WORKER, 0, 0);
  private static final Admission SECOND = new Admission(Role.WORKER, 1, 0);

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));

  @Test
  void shouldNameTheMissingWorkerWhenNoStepIsMade() {
    fixture.started(1, 2);
    fixture.setStatus(FIRST, at(17));
    fixture.setStatus(SECOND, at(16));
    StragglerReport wait = StragglerReport.of(3, 17, List.of(1));
    fixture.setStatus(
        SERVER,
        ControlCodec.status(new JsonObject().put("version", 17).put("waiting", wait.toJson())));

    fixture.advance(15_000);
    assertTrue(stalls().isEmpty());
    fixture.advance(100);

    StallFound stall = stalls().get(0);
    assertEquals(15_000, stall.stillMillis());
    assertEquals(17, stall.version());
    assertEquals("worker 1", stall.missing());
    assertEquals("shard 0, partition 3 waits for step 17 of worker 1", stall.waits());
    assertTrue(stall.lastHeard().contains("worker 1, 0 ms ago: step 16"), stall.lastHeard());
  }

  @Test
  void shouldReportAStallOncePerLimitUntilStepsContinue() {
    fixture.started(1, 2);
    fixture.setStatus(FIRST, at(17));
    fixture.setStatus(SECOND, at(17));
    fixture.advance(29_900);
    assertEquals(1, stalls().size());
    fixture.advance(300);
    assertEquals(2, stalls().size());
    assertEquals(30_000, stalls().get(1).stillMillis());

    fixture.setStatus(FIRST, at(18));
    fixture.setStatus(SECOND, at(18));
    fixture.advance(14_000);

    assertEquals(2, stalls().size());
  }

  @Test
  void shouldNameSilentWorkersWhenNoServerKnowsWhoIsMissing() {
    fixture.started(1, 2);
    fixture.setStatus(FIRST, at(5));
    fixture.setStatus(SECOND, at(5));
    fixture.advance(9_000);
    fixture.silence(SECOND);

    fixture.advance(6_200);

    assertEquals("worker 1", stalls().get(0).missing());
    assertEquals("", stalls().get(0).waits());
  }

  @Test
  void shouldNameTheSlowestWhenEverybodyAnswersAndAllStepTogether() {
    fixture.started(1, 2);
    fixture.setStatus(FIRST, at(17));
    fixture.setStatus(SECOND, at(15));
    fixture.advance(2_000);
    // Worker 1 starts the step it never finishes after worker 0 starts to wait.
    fixture.setStatus(SECOND, at(16));

    fixture.advance(13_100);

    assertEquals(
        "the next step of worker 1 (at step 16 for 13000 ms, last heard 0 ms ago); nobody is silent",
        stalls().get(0).missing());
  }

  @Test
  void shouldNameEveryStalledWorkerWithoutRounds() {
    CoordinatorStateFixture apart =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 3, false));
    apart.started(1, 3);
    apart.setStatus(FIRST, at(17));
    apart.setStatus(SECOND, at(30));
    for (int step = 0; step < 15; step++) {
      apart.setStatus(new Admission(Role.WORKER, 2, 0), at(step));
      apart.advance(1_000);
    }
    assertTrue(apart.events(StallFound.class).isEmpty());

    apart.advance(100);

    assertEquals(
        "the next step of worker 0 (at step 17 for 15000 ms, last heard 0 ms ago),"
            + " worker 1 (at step 30 for 15000 ms, last heard 0 ms ago); nobody is silent",
        apart.events(StallFound.class).get(0).missing());
  }

  @Test
  void shouldNotCountTheWaitForTheStartNorSleepOfTheCoordinatorNorWorkersAtTheEnd() {
    fixture.setStatus(fixture.join(Role.WORKER), at(0));
    fixture.advance(20_000);
    fixture.setStatus(
        fixture.join(Role.WORKER), new WorkerStatus(0, 1_000, 0, "trains", 0, false, 0, false));
    fixture.join(Role.SERVER);
    fixture.acceptAll();

    fixture.advance(10_000);
    fixture.freeze(20_000);
    fixture.advance(14_000);

    assertTrue(stalls().isEmpty(), () -> stalls().toString());
  }

  @Test
  void shouldWaitForThreeTimesTheLastStepWhenStepsAreLong() {
    fixture.started(1, 2);
    for (long step = 5; step < 9; step++) {
      fixture.setStatus(FIRST, at(step));
      fixture.setStatus(SECOND, at(step));
      fixture.advance(14_000);
    }
    fixture.setStatus(FIRST, at(9));
    fixture.setStatus(SECOND, at(9));

    fixture.advance(41_000);
    assertTrue(stalls().isEmpty(), () -> stalls().toString());
    fixture.advance(2_000);

    assertEquals(1, stalls().size());
  }

  @Test
  void shouldWaitWhileStagesTestAndReportAHangingTest() {
    fixture.started(1, 2);
    fixture.setStatus(FIRST, at(5));
    for (long tested = 0; tested < 5; tested++) {
      fixture.setStatus(SECOND, new WorkerStatus(5, 5, 0, "trains", tested, false, 0, false));
      fixture.advance(14_000);
    }
    assertTrue(stalls().isEmpty(), () -> stalls().toString());

    fixture.advance(1_200);

    assertEquals(1, stalls().size());
  }

  private static MemberStatus at(long step) {
    return ControlCodec.status(
        new JsonObject().put("step", step).put("version", step).put("event", "trains"));
  }

  private List<StallFound> stalls() {
    return fixture.events(StallFound.class);
  }
}
