package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** Compares bfloat16 with its definition: (-1)^s 2^(e-127) (1 + m/128), subnormal 2^-126 m/128. */
class BFloat16Test {

  @Test
  void shouldEqualTheDefinitionWhenEveryPatternIsWidened() {
    for (int half = 0; half < 1 << 16; half++) {
      assertEquals(value(half), BFloat16.widen((short) half), 0.0, "pattern " + half);
    }
  }

  @Test
  void shouldRestoreEveryPatternAfterARoundTrip() {
    for (int half = 0; half < 1 << 16; half++) {
      assertEquals((short) half, BFloat16.narrow(BFloat16.widen((short) half)), "pattern " + half);
    }
  }

  @Test
  void shouldRoundToEvenWhenExactlyBetweenTwoNeighbours() {
    for (int half = 0; half < 0x7f7f; half++) {
      float middle = (float) ((value(half) + value(half + 1)) / 2);
      int even = half % 2 == 0 ? half : half + 1;
      assertEquals((short) even, BFloat16.narrow(middle), "above pattern " + half);
      assertEquals((short) (even | 0x8000), BFloat16.narrow(-middle), "below pattern -" + half);
      assertEquals((short) half, BFloat16.narrow(Math.nextDown(middle)), "above pattern " + half);
      assertEquals((short) (half + 1), BFloat16.narrow(Math.nextUp(middle)), "above " + half);
    }
  }

  @Test
  void shouldOverflowToInfinityWhenRoundedAboveTheLargest() {
    assertEquals((short) 0x7f80, BFloat16.narrow(Float.MAX_VALUE));
    assertEquals((short) 0xff80, BFloat16.narrow(-Float.MAX_VALUE));
    assertEquals((short) 0x7f7f, BFloat16.narrow(Float.intBitsToFloat(0x7f7f0000)));
  }

  @Test
  void shouldStayNaNWhenThePayloadIsOnlyInTheLowBits() {
    float narrowNaN = Float.intBitsToFloat(0xff800001);

    assertTrue(Float.isNaN(BFloat16.widen(BFloat16.narrow(narrowNaN))));
  }

  private static double value(int half) {
    double sign = half >= 0x8000 ? -1 : 1;
    int exponent = half >> 7 & 0xff;
    int mantissa = half & 0x7f;
    if (exponent == 255) {
      return mantissa == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
    }
    return exponent == 0
        ? sign * Math.pow(2, -126) * mantissa / 128
        : sign * Math.pow(2, exponent - 127) * (1 + mantissa / 128.0);
  }
}
