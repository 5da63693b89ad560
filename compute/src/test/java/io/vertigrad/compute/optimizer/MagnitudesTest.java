package io.vertigrad.compute.optimizer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MagnitudesTest {

  @Test
  void shouldFindTheLargestElementAtAnyIndex() {
    for (int length : new int[] {1, 2_047, 2_048, 2_049, 10_000}) {
      for (int at : new int[] {0, length / 2, length - 1}) {
        float[] values = new float[length];
        values[at] = -3;
        assertEquals(3, Magnitudes.largest(values, 0, length), at + " of " + length);
        values[at] = Float.NEGATIVE_INFINITY;
        assertEquals(Float.POSITIVE_INFINITY, Magnitudes.largest(values, 0, length));
        values[at] = Float.NaN;
        assertTrue(Float.isNaN(Magnitudes.largest(values, 0, length)), at + " of " + length);
      }
    }
  }

  @Test
  void shouldIgnoreElementsOutsideTheRange() {
    float[] values = {9, 1, -2, 9};

    assertEquals(2, Magnitudes.largest(values, 1, 2));
    assertEquals(0, Magnitudes.largest(values, 2, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> Magnitudes.largest(values, 3, 2));
  }
}
