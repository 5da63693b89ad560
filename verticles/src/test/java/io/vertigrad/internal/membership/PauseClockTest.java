package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class PauseClockTest {

  private final AtomicLong time = new AtomicLong(100);
  private final PauseClock clock = new PauseClock(time::get);

  @Test
  void shouldStandStillInEveryPauseAndNowhereElse() {
    clock.hold(true);
    time.set(150);
    clock.hold(true);
    assertEquals(100, clock.getAsLong());

    clock.hold(false);
    time.set(170);
    assertEquals(120, clock.getAsLong());
    clock.hold(true);
    time.set(1_000);
    assertEquals(120, clock.getAsLong());
    clock.hold(false);
    time.set(1_001);
    assertEquals(121, clock.getAsLong());
  }
}
