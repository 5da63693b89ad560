package io.vertigrad.compute.pipeline;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EvenCutsTest {

  @Test
  void shouldDivideEvenlyWhenCostsAreEqual() {
    assertEquals(List.of(1, 3), EvenCuts.of(new double[] {1, 1, 1, 1, 1, 1}, 3));
  }

  @Test
  void shouldIsolateTheMostExpensiveLayer() {
    assertEquals(List.of(2, 3), EvenCuts.of(new double[] {1, 1, 1, 100, 1}, 3));
  }

  @Test
  void shouldAssignOneCostToEachStageWhenThereAreNoMore() {
    assertEquals(List.of(0, 1), EvenCuts.of(new double[] {0, 0, 0}, 3));
    assertEquals(List.of(), EvenCuts.of(new double[] {5}, 1));
  }

  @Test
  void shouldMinimiseTheLargestCostOverAllDivisions() {
    SplittableRandom random = new SplittableRandom(4);
    for (int round = 0; round < 200; round++) {
      double[] costs = random.doubles(9, 0, 10).toArray();

      List<Integer> ends = EvenCuts.of(costs, 3);

      double least = Double.POSITIVE_INFINITY;
      for (int a = 0; a < 7; a++) {
        for (int b = a + 1; b < 8; b++) {
          least = Math.min(least, worst(costs, List.of(a, b)));
        }
      }
      assertEquals(least, worst(costs, ends), 1e-12);
    }
  }

  @Test
  void shouldRefuseWhenThereAreMoreRunsThanCosts() {
    assertThrows(IllegalArgumentException.class, () -> EvenCuts.of(new double[] {1, 2}, 3));
  }

  private static double worst(double[] costs, List<Integer> ends) {
    double worst = 0;
    double sum = 0;
    for (int i = 0; i < costs.length; i++) {
      sum += costs[i];
      if (ends.contains(i) || i == costs.length - 1) {
        worst = Math.max(worst, sum);
        sum = 0;
      }
    }
    return worst;
  }
}
