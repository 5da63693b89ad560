package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.job.Role;
import org.junit.jupiter.api.Test;

final class LeaveReasonTest {

  @Test
  void shouldBeTheSameReasonForReadersOfEvents() {
    assertTrue(event(LeaveReason.FINISHED).finished());
    assertTrue(event(LeaveReason.FINISHED).inGoodOrder());
    assertFalse(event(LeaveReason.STOPPED).finished());
    assertTrue(event(LeaveReason.STOPPED).inGoodOrder());
    assertTrue(event(LeaveReason.lost(MemberLeft.JOINS_AGAIN)).inGoodOrder());
    assertFalse(event(LeaveReason.failed("NaN")).inGoodOrder());
    assertFalse(event(LeaveReason.lost("silent for 10000 ms")).inGoodOrder());
  }

  @Test
  void shouldReadTheTextThatItWrites() {
    for (LeaveReason reason :
        new LeaveReason[] {
          LeaveReason.FINISHED,
          LeaveReason.STOPPED,
          LeaveReason.failed("NaN"),
          LeaveReason.lost("silent for 10000 ms")
        }) {
      assertEquals(reason, LeaveReason.read(reason.toString()));
    }
  }

  private static MemberLeft event(LeaveReason reason) {
    return new MemberLeft(0, Role.WORKER, 1, 0, reason.toString());
  }
}
