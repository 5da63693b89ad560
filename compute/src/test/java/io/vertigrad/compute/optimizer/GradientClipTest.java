package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

class GradientClipTest {

  @Test
  void shouldShortenToTheLimitWhenGradientIsTooLong() {
    double norm = GradientClip.norm(FloatBuffer.wrap(new float[] {3, 4}));

    assertEquals(5, norm, 1e-12);
    assertEquals(0.4f, GradientClip.factor(norm, 2), 1e-7f);
  }

  @Test
  void shouldLeaveTheGradientWhenShortEnoughUnlimitedOrNotFinite() {
    assertEquals(1f, GradientClip.factor(5, 5), 0);
    assertEquals(1f, GradientClip.factor(5, 0), 0);
    assertEquals(1f, GradientClip.factor(Double.POSITIVE_INFINITY, 5), 0);
    assertEquals(1f, GradientClip.factor(Double.NaN, 5), 0);
  }
}
