package io.vertigrad.benchmarks.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class CommandTimerTest {

  private static final double TOLERANCE = 1e-9;

  @Test
  void shouldReadTheProcessorTimeOfAShellsChildren() {
    assertEquals(63.75, CommandTimer.cpuSeconds("0m0.01s 0m0.02s\n1m2.500s 0m1.25s\n"), TOLERANCE);
    assertThrows(IllegalStateException.class, () -> CommandTimer.cpuSeconds(""));
  }
}
