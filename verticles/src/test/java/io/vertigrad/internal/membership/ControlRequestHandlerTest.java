package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReportCandidates;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ControlRequestHandlerTest {

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
  private final ControlRequestHandler handler = new ControlRequestHandler(fixture.coordinator);

  @Test
  void shouldSendTheMembershipInTheHeartbeatAnswerWhenItWasMissed() {
    fixture.started(1, 2);

    JsonObject late = handler.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 0));
    JsonObject current = handler.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 1));

    assertEquals(fixture.published(), Membership.fromJson(late.getJsonObject("membership")));
    assertFalse(current.containsKey("membership"));
    assertEquals("running", current.getString("state"));
  }

  @Test
  void shouldAnswerUnknownToAStranger() {
    JsonObject answer = handler.answer(heartbeat(new Admission(Role.WORKER, 7, 3), 0));

    assertEquals("worker 7 (incarnation 3) was never admitted", answer.getString("unknown"));
  }

  @Test
  void shouldReportTheReasonWhenAStopWasMissed() {
    fixture.started(1, 2).coordinator.stop("the user pressed Ctrl-C");

    JsonObject answer = handler.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 1));

    assertEquals("the user pressed Ctrl-C", answer.getString("stop"));
  }

  @Test
  void shouldChooseOneStateForAllWorkersWhenTheLastHasReported() {
    fixture.started(1, 2);

    JsonObject early = handler.answer(candidates(0, 1));
    JsonObject last = handler.answer(candidates(1, 1));
    JsonObject again = handler.answer(candidates(0, 1));

    assertEquals("at membership epoch 1 waits for worker 1", early.getString("refused"));
    assertEquals(
        ControlCodec.write(RunVersion.BEGINNING),
        last.getJsonObject("chosen").getJsonObject("from"));
    assertEquals(last, again);
  }

  @Test
  void shouldRefuseTheCandidatesOfAnEarlierMembership() {
    fixture.started(1, 2);
    handler.answer(candidates(0, 1));
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.failed("NaN"), MemberStatus.NONE);
    fixture.acceptAll();

    JsonObject answer = handler.answer(candidates(0, 1));
    JsonObject next = handler.answer(candidates(0, 2));

    assertEquals("at membership epoch 2 waits for worker 0", answer.getString("refused"));
    assertTrue(next.containsKey("chosen"), next::encode);
  }

  @Test
  void shouldNotCountTheCandidatesOfAnEarlierIncarnation() {
    fixture.started(1, 2);
    JsonObject stranger = candidates(0, 1).put("incarnation", 5);

    handler.answer(stranger);
    JsonObject answer = handler.answer(candidates(1, 1));

    assertEquals("at membership epoch 1 waits for worker 0", answer.getString("refused"));
  }

  @Test
  void shouldRefuseInvalidFrameRequests() {
    JsonObject unknown = handler.answer(new JsonObject().put("request", "dance"));
    JsonObject empty = handler.answer(new JsonObject().put("request", "join"));
    JsonObject wrong = handler.answer(new JsonObject().put("request", "leave").put("role", 5));

    assertTrue(
        unknown.getString("refused").startsWith("expected request to be one of join"),
        unknown::encode);
    assertTrue(empty.getString("refused").startsWith("malformed request"), empty::encode);
    assertTrue(wrong.getString("refused").startsWith("malformed request"), wrong::encode);
  }

  private static JsonObject candidates(int rank, int epoch) {
    return ControlCodec.write(
        (ControlRequest)
            new ReportCandidates(
                new Candidates(
                    new Admission(Role.WORKER, rank, 0),
                    epoch,
                    Rule.COMMON_STATE,
                    Optional.empty(),
                    List.of(RunVersion.BEGINNING),
                    List.of(),
                    false,
                    true)));
  }

  private static JsonObject heartbeat(Admission from, int epoch) {
    return ControlCodec.write(from)
        .put("request", "heartbeat")
        .put("epoch", epoch)
        .put("status", new JsonObject());
  }
}
