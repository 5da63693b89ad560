package io.vertigrad.benchmarks.report;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
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
}
