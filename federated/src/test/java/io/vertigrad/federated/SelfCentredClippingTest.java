package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.distance;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SelfCentredClippingTest {

  @Test
  void shouldFollowFormulaWhenOneNeighbourIsClipped() {
    float[] own = {1, 1};

    mix(own, new float[][] {{1.3f, 1.4f}, {7, 9}}, new double[] {0.25, 0.25}, 1);

    // Differences (0.3, 0.4) in full and (6, 8) clipped to (0.6, 0.8).
    assertArrayEquals(new float[] {1 + 0.25f * 0.9f, 1 + 0.25f * 1.2f}, own, 1e-6f);
  }

  @Test
  void shouldBePlainMixingWhenRadiusIsInfinite() {
    float[] own = {1, 2};

    mix(
        own,
        new float[][] {{4, 5}, {7, 11}},
        new double[] {1.0 / 3, 1.0 / 3},
        Double.POSITIVE_INFINITY);

    assertArrayEquals(new float[] {4, 6}, own, 1e-6f);
  }

  @ParameterizedTest
  @ValueSource(doubles = {10, 1e6, 1e30, 3e38})
  void shouldMoveByWeightTimesRadiusAtMostWhenNeighbourLies(double size) {
    float[] own = {1, 2, 3};
    float huge = (float) size;

    mix(own, new float[][] {{huge, -huge, huge}}, new double[] {0.4}, 2);

    assertTrue(distance(new float[] {1, 2, 3}, own) <= 0.4 * 2 + 1e-6);
  }

  @ParameterizedTest
  @ValueSource(floats = {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY})
  void shouldIgnoreNeighbourWhenOneOfItsElementsIsNotFinite(float wrong) {
    float[] own = {1, 2, 3};

    mix(
        own,
        new float[][] {{1, wrong, 3}, {3, 2, 3}},
        new double[] {0.25, 0.25},
        Double.POSITIVE_INFINITY);

    assertArrayEquals(new float[] {1.5f, 2, 3}, own);
  }

  @Test
  void shouldKeepElementsWhenNeighboursAreShorter() {
    float[] own = {1, 2, 3};

    mix(own, new float[][] {{3, 4}}, new double[] {0.5}, Double.POSITIVE_INFINITY);

    assertArrayEquals(new float[] {2, 3, 3}, own);
  }

  @Test
  void shouldStayWhenNeighboursAreEqual() {
    float[] own = {1, 2, 3};

    mix(own, new float[][] {own.clone(), own.clone()}, new double[] {0.3, 0.3}, 0);

    assertArrayEquals(new float[] {1, 2, 3}, own);
  }

  @Test
  void shouldLeaveFarthestOutWhenRadiusIsChosen() {
    double[] distances = {1, 1e30, 2};
    double[] weights = {0.25, 0.25, 0.25};

    // The liar's weight is dropped: sqrt((0.25 * 1 + 0.25 * 4) / 0.25).
    assertEquals(Math.sqrt(5), SelfCentredClipping.radius(distances, weights, 0.25), 1e-12);
    // And half of the next one's: sqrt((0.25 * 1 + 0.125 * 4) / 0.375).
    assertEquals(Math.sqrt(2), SelfCentredClipping.radius(distances, weights, 0.375), 1e-12);
    assertEquals(Double.POSITIVE_INFINITY, SelfCentredClipping.radius(distances, weights, 0));
  }

  @Test
  void shouldCountFiniteDistancesOnlyWhenMoreAreInfiniteThanExpected() {
    double infinite = Double.POSITIVE_INFINITY;
    double[] weights = {0.25, 0.25, 0.25};

    assertEquals(
        2, SelfCentredClipping.radius(new double[] {infinite, 2, infinite}, weights, 0.25), 1e-12);
  }

  @Test
  void shouldDropLiarsWholeWhenTheirWeightsAreRounded() {
    double[] weights = new double[7];
    Arrays.fill(weights, 0.1);
    double[] distances = {1e38, 1, 1e38, 1, 1e38, 1, 1};

    double wrong = 0.1 + 0.1 + 0.1;

    assertEquals(
        Math.sqrt(0.4 / 0.3), SelfCentredClipping.radius(distances, weights, wrong), 1e-12);
  }

  private static void mix(float[] own, float[][] neighbours, double[] weights, double radius) {
    double[] distances = SelfCentredClipping.distances(own, neighbours);
    SelfCentredClipping.mix(own, neighbours, distances, weights, radius);
  }
}
