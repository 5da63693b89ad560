package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.data.StreamTests;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;

class TestCountersTest {

  @Test
  void shouldCountTheModelAndBothBaselines() {
    TestCounters counters = new TestCounters(2, 2);
    counters.count(1, 1, Float.NaN);
    counters.count(1, 0, 1);
    counters.count(0, 0, 1);
    counters.count(0, 0, 0);

    StreamTests tests = counters.tests();

    assertEquals(4, tests.events());
    assertEquals(0.75, tests.figure());
    assertEquals(1, tests.windowFigure());
    assertEquals(0.5, tests.noChangeFigure());
    assertEquals(0.25, tests.majorityFigure(), "class 1 is the most frequent one until the last");
    // Chance: 1/2 * 1/4 + 1/2 * 3/4.
    assertEquals((0.75 - 0.5) / 0.5, tests.kappa(), 1e-12);
  }

  @Test
  void shouldCountSquaredErrorsOfValues() {
    TestCounters counters = new TestCounters(0, 10);
    counters.count(2, 3, Float.NaN);
    counters.count(4, 4, 2);

    StreamTests tests = counters.tests();

    assertEquals(Math.sqrt(0.5), tests.figure(), 1e-9);
    assertEquals(Math.sqrt(2), tests.noChangeFigure(), 1e-9);
    assertEquals(Math.sqrt(2), tests.majorityFigure(), 1e-9);
  }

  @Test
  void shouldContinueFromItsJson() {
    TestCounters counters = new TestCounters(2, 3);
    for (int i = 0; i < 5; i++) {
      counters.count(i % 2, i % 3 % 2, (i + 1) % 2);
    }
    TestCounters again = new TestCounters(2, 3);
    again.restore(new JsonObject(counters.toJson().encode()));
    counters.count(1, 0, 1);
    again.count(1, 0, 1);

    assertEquals(counters.tests(), again.tests());
  }
}
