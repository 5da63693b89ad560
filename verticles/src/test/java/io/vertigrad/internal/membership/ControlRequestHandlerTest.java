package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

final class ControlRequestHandlerTest {

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
  private final ControlRequestHandler desk = new ControlRequestHandler(stage.coordinator);

  @Test
  void shouldSendTheMembershipAlongWhenAMemberMissedItsPublication() {
    stage.started(1, 2);

    JsonObject late = desk.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 0));
    JsonObject current = desk.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 1));

    assertEquals(stage.published(), Membership.fromJson(late.getJsonObject("membership")));
    assertFalse(current.containsKey("membership"));
    assertEquals("running", current.getString("state"));
  }

  @Test
  void shouldTellAStrangerThatItIsUnknown() {
    JsonObject answer = desk.answer(heartbeat(new Admission(Role.WORKER, 7, 3), 0));

    assertEquals("worker 7 (incarnation 3) was never admitted", answer.getString("unknown"));
  }

  @Test
  void shouldTellTheReasonWhenAStopWasMissed() {
    stage.started(1, 2).coordinator.stop("the user pressed Ctrl-C");

    JsonObject answer = desk.answer(heartbeat(new Admission(Role.WORKER, 0, 0), 1));

    assertEquals("the user pressed Ctrl-C", answer.getString("stop"));
  }

  @Test
  void shouldRefuseRequestsThatMakeNoSense() {
    JsonObject unknown = desk.answer(new JsonObject().put("request", "dance"));
    JsonObject empty = desk.answer(new JsonObject().put("request", "join"));
    JsonObject wrong = desk.answer(new JsonObject().put("request", "leave").put("role", 5));

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
