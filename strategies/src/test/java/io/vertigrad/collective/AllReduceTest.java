package io.vertigrad.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what all algorithms share. */
class AllReduceTest {

  private static final float[] VALUES = {
    1, -3.1f, 0, -0f, 1e-45f, 3e-40f, 3e38f, 0.1f, Float.POSITIVE_INFINITY, Float.NaN
  };

  @ParameterizedTest
  @ValueSource(
      floats = {1, 2, 3, 4, 0.5f, 0.3f, 96, 1e-45f, 0x1p-126f, 0x1p127f, 0, Float.MAX_VALUE})
  void shouldDivideToTheBitsOfADivision(float divisor) {
    float[] expected = VALUES.clone();
    for (int i = 1; i < expected.length; i++) {
      expected[i] /= divisor;
    }
    float[] divided = VALUES.clone();

    AllReduce.divide(divided, 1, divided.length, divisor);

    assertArrayEquals(bits(expected), bits(divided));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 7, 8})
  void shouldCutEachChunkOfAVectorInTheCacheIntoTwoPieces(int workers) {
    int length = 500_003;
    int most = AllReduce.ringElements(length, workers);

    for (int chunk = 0; chunk < workers; chunk++) {
      assertEquals(2, VectorSlices.chunk(length, chunk, workers, most).count());
    }
  }

  @Test
  void shouldSendSmallPiecesOfLargeVectorsAndNoSmallerOnes() {
    assertEquals(AllReduce.RING_ELEMENTS, AllReduce.ringElements(25_000_000, 2));
    assertEquals(AllReduce.RING_ELEMENTS, AllReduce.ringElements(30_000, 2));
    assertTrue(AllReduce.ringElements(AllReduce.CACHED_ELEMENTS, 2) > AllReduce.RING_ELEMENTS);
  }

  private static int[] bits(float[] values) {
    int[] bits = new int[values.length];
    for (int i = 0; i < values.length; i++) {
      bits[i] = Float.floatToIntBits(values[i]);
    }
    return bits;
  }
}
