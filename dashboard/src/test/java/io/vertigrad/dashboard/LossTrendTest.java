package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class LossTrendTest {

  @Test
  void shouldComputeTheLeastSquaresLineAndItsStandardError() {
    LossTrend trend = LossTrend.from(1, new double[] {9, 0, 1, 2, 3}, new double[] {9, 1, 3, 2, 4});

    // Slope 0.8; the residuals are -0.3, 0.9, -0.9 and 0.3.
    assertEquals(4, trend.points());
    assertEquals(3, trend.updates());
    assertEquals(2.5, trend.mean(), 1e-12);
    assertEquals(2.4, trend.change(), 1e-12);
    assertEquals(3 * Math.sqrt(1.8 / 2 / 5), trend.error(), 1e-12);
  }

  @Test
  void shouldDistinguishAFallFromScatter() {
    assertTrue(trend(i -> 2 - 0.01 * i + scatter(i)).falls());
    assertTrue(trend(i -> 2 + 0.01 * i + scatter(i)).rises());
    LossTrend level = trend(i -> 2 + scatter(i));
    assertTrue(level.isLevel());
    assertFalse(level.falls() || level.rises());
  }

  @Test
  void shouldNotCallALossLevelWhoseScatterHidesAFall() {
    LossTrend wild = trend(i -> 2 + 20 * scatter(i));

    assertFalse(wild.falls() || wild.rises() || wild.isLevel());
  }

  @Test
  void shouldKnowNothingFromTwoPointsOrOneVersion() {
    double[] losses = {1, 2, 3};

    assertFalse(LossTrend.from(1, new double[] {1, 2, 3}, losses).rises());
    assertFalse(LossTrend.from(0, new double[] {7, 7, 7}, losses).rises());
    assertFalse(LossTrend.from(0, new double[] {7, 7, 7}, losses).isLevel());
  }

  private static LossTrend trend(IntToDoubleFunction loss) {
    double[] versions = IntStream.range(0, 100).asDoubleStream().toArray();
    return LossTrend.from(0, versions, IntStream.range(0, 100).mapToDouble(loss).toArray());
  }

  /** Returns numbers between -0.1 and 0.1 that follow no line. */
  private static double scatter(int i) {
    return 0.1 * Math.sin(37.0 * i);
  }
}
