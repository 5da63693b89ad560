package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Compares binary16 with its definition: (-1)^s 2^(e-15) (1 + m/1024), subnormal (-1)^s 2^-14
 * m/1024.
 */
class Float16Test {

  @Test
  void shouldEqualTheDefinitionWhenEveryPatternIsWidened() {
    for (int half = 0; half < 1 << 16; half++) {
      double expected = value(half);
      assertEquals(expected, Float16.widen((short) half), 0.0, "pattern " + half);
    }
  }

  @Test
  void shouldRestoreEveryPatternAfterARoundTrip() {
    for (int half = 0; half < 1 << 16; half++) {
      assertEquals((short) half, Float16.narrow(Float16.widen((short) half)), "pattern " + half);
    }
  }

  @Test
  void shouldRoundToEvenWhenExactlyBetweenTwoNeighbours() {
    for (int half = 0; half < 0x7bff; half++) {
      float middle = (float) ((value(half) + value(half + 1)) / 2);
      int even = half % 2 == 0 ? half : half + 1;
      assertEquals((short) even, Float16.narrow(middle), "above pattern " + half);
      assertEquals((short) (even | 0x8000), Float16.narrow(-middle), "below pattern -" + half);
      assertEquals((short) half, Float16.narrow(Math.nextDown(middle)), "above pattern " + half);
      assertEquals((short) (half + 1), Float16.narrow(Math.nextUp(middle)), "above " + half);
    }
  }

  @Test
  void shouldOverflowToInfinityWhenAboveTheLargest() {
    assertEquals((short) 0x7bff, Float16.narrow(65_504f));
    assertEquals((short) 0x7bff, Float16.narrow(Math.nextDown(65_520f)));
    assertEquals((short) 0x7c00, Float16.narrow(65_520f));
    assertEquals((short) 0x7c00, Float16.narrow(Float.MAX_VALUE));
    assertEquals((short) 0xfc00, Float16.narrow(Float.NEGATIVE_INFINITY));
  }

  @Test
  void shouldStayNaNWhenThePayloadIsOnlyInTheLowBits() {
    float narrowNaN = Float.intBitsToFloat(0x7f800001);

    assertTrue(Float.isNaN(Float16.widen(Float16.narrow(narrowNaN))));
  }

  @Test
  void shouldChooseTheNearestWhenValuesAreRandom() {
    SplittableRandom random = new SplittableRandom(16);
    for (int i = 0; i < 200_000; i++) {
      float value = Float.intBitsToFloat(random.nextInt() & 0x477fefff);
      int half = Float16.narrow(value) & 0x7fff;
      double error = Math.abs(value(half) - value);
      assertTrue(half == 0 || error <= Math.abs(value(half - 1) - value), "value " + value);
      assertTrue(error <= Math.abs(value(half + 1) - value), "value " + value);
    }
  }

  private static double value(int half) {
    double sign = half >= 0x8000 ? -1 : 1;
    int exponent = half >> 10 & 0x1f;
    int mantissa = half & 0x3ff;
    if (exponent == 31) {
      return mantissa == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
    }
    return exponent == 0
        ? sign * Math.pow(2, -14) * mantissa / 1024
        : sign * Math.pow(2, exponent - 15) * (1 + mantissa / 1024.0);
  }
}
