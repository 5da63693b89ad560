package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.internal.membership.CoordinatorClient.PauseClock;
import io.vertigrad.internal.membership.CoordinatorClient.PauseClock.Reason;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class PauseClockTest {

  private final AtomicLong time = new AtomicLong(100);
  private final PauseClock clock = new PauseClock(time::get);

  @Test
  void shouldStopTheClockInPausesOnly() {
    clock.setReason(Reason.PAUSE, true);
    time.set(150);
    clock.setReason(Reason.PAUSE, true);
    assertEquals(100, clock.getAsLong());

    clock.setReason(Reason.PAUSE, false);
    time.set(170);
    assertEquals(120, clock.getAsLong());
    clock.setReason(Reason.PAUSE, true);
    time.set(1_000);
    assertEquals(120, clock.getAsLong());
    clock.setReason(Reason.PAUSE, false);
    time.set(1_001);
    assertEquals(121, clock.getAsLong());
  }

  @Test
  void shouldStopTheClockUntilNoReasonRemains() {
    clock.setReason(Reason.SERVER_MISSING, true);
    time.set(200);
    clock.setReason(Reason.PAUSE, true);
    clock.setReason(Reason.SERVER_MISSING, false);
    time.set(300);
    assertEquals(100, clock.getAsLong());

    clock.setReason(Reason.PAUSE, false);
    time.set(310);
    assertEquals(110, clock.getAsLong());
  }
}
