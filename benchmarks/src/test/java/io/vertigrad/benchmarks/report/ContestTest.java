package io.vertigrad.benchmarks.report;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ContestTest {

  @Test
  void shouldTakeTurnsAndDropTheFirstWhenContendersAreMeasured() throws Exception {
    List<String> order = new ArrayList<>();

    var measured =
        new Contest()
            .enter("a", () -> recorded(order, "a"))
            .enter("b", () -> recorded(order, "b"))
            .run(2);

    assertEquals(List.of("a", "b", "a", "b", "a", "b"), order);
    assertArrayEquals(new double[] {3, 5}, measured.get("a").values());
    assertArrayEquals(new double[] {4, 6}, measured.get("b").values());
  }

  private static double recorded(List<String> order, String name) {
    order.add(name);
    return order.size();
  }

  @Test
  void shouldCountNothingBeforeEveryContenderHasSettled() throws Exception {
    Iterator<Double> falling =
        List.of(90.0, 80.0, 70.0, 50.0, 40.0, 30.0, 20.0, 20.0, 20.0, 20.0, 20.0, 19.0, 18.0)
            .iterator();
    Contest contest = new Contest().enter("flat", () -> 5).enter("falling", falling::next);

    Map<String, Repetitions> measured = contest.runSettled(2);

    assertArrayEquals(new double[] {19, 18}, measured.get("falling").values());
    assertEquals(2, measured.get("flat").count());
  }

  @Test
  void shouldWaitUntilRatesHaveStoppedRising() throws Exception {
    Iterator<Double> rising =
        List.of(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0).iterator();

    Map<String, Repetitions> measured =
        new Contest().enter("rising", rising::next).runSettledRates(1);

    assertArrayEquals(new double[] {6}, measured.get("rising").values());
    assertEquals(7, rising.next(), "what was not asked for");
  }

  @Test
  void shouldStopWarmingUpWhenAContenderNeverSettles() throws Exception {
    double[] time = {1};
    Contest contest = new Contest().enter("ever faster", () -> time[0] *= 0.9);

    double measured = contest.runSettled(1).get("ever faster").median();

    assertEquals(Math.pow(0.9, 25), measured, 1e-12);
  }
}
