package io.vertigrad.federated;

import static io.vertigrad.federated.RobustVectors.distance;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SelfCentredClippingTest {

  @Test
  void shouldFollowFormulaWhenOneNeighbourIsClipped() {
    float[] result = new float[2];

    SelfCentredClipping.mix(
        new float[] {1, 1},
        new float[][] {{1.3f, 1.4f}, {7, 9}},
        new double[] {0.25, 0.25},
        1,
        result);

    // Differences (0.3, 0.4) in full and (6, 8) clipped to (0.6, 0.8).
    assertArrayEquals(new float[] {1 + 0.25f * 0.9f, 1 + 0.25f * 1.2f}, result, 1e-6f);
  }

  @Test
  void shouldBePlainMixingWhenRadiusIsInfinite() {
    float[] own = {1, 2};

    SelfCentredClipping.mix(
        own,
        new float[][] {{4, 5}, {7, 11}},
        new double[] {1.0 / 3, 1.0 / 3},
        Double.POSITIVE_INFINITY,
        own);

    assertArrayEquals(new float[] {4, 6}, own, 1e-6f);
  }

  @ParameterizedTest
  @ValueSource(doubles = {10, 1e6, 1e30, 3e38})
  void shouldMoveByWeightTimesRadiusAtMostWhenNeighbourLies(double size) {
    float[] own = {1, 2, 3};
    float[] result = new float[3];
    float huge = (float) size;

    SelfCentredClipping.mix(
        own, new float[][] {{huge, -huge, huge}}, new double[] {0.4}, 2, result);

    assertTrue(distance(own, result) <= 0.4 * 2 + 1e-6);
  }

  @Test
  void shouldStayWhenNeighboursAreEqual() {
    float[] own = {1, 2, 3};
    float[] result = new float[3];

    SelfCentredClipping.mix(own, new float[][] {own, own}, new double[] {0.3, 0.3}, 0, result);

    assertArrayEquals(own, result);
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
}
