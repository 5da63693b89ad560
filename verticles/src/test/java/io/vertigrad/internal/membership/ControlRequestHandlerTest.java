package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.JsonObject;
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

  private static JsonObject heartbeat(Admission from, int epoch) {
    return ControlCodec.write(from)
        .put("request", "heartbeat")
        .put("epoch", epoch)
        .put("status", new JsonObject());
  }
}
