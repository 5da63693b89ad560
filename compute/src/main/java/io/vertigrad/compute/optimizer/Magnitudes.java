package io.vertigrad.compute.optimizer;

import java.util.Objects;

/** Looks for the largest of many numbers, several at a time. */
public final class Magnitudes {

  /** As many as fit into the first-level cache twice. */
  private static final int BLOCK = 2_048;

  private Magnitudes() {}

  /**
   * Returns the largest magnitude of some elements.
   *
   * @param values are not changed
   * @param first index of the first element to look at
   * @param count how many follow it, that one included
   * @return NaN when one of them is NaN, 0 without elements
   */
  public static float largest(float[] values, int first, int count) {
    Objects.checkFromIndexSize(first, count, values.length);
    // The compiler makes vectors of loops over two arrays that are indexed alike, and of none that
    // ends in a single maximum: hence a maximum for each place of the block.
    float[] block = new float[Math.min(BLOCK, count)];
    float[] most = new float[block.length];
    for (int done = 0; done < count; done += BLOCK) {
      int some = Math.min(BLOCK, count - done);
      System.arraycopy(values, first + done, block, 0, some);
      raise(most, block, some);
    }
    float largest = 0;
    for (float one : most) {
      largest = Math.max(largest, one);
    }
    return largest;
  }

  private static void raise(float[] most, float[] block, int count) {
    for (int i = 0; i < count; i++) {
      most[i] = Math.max(most[i], Math.abs(block[i]));
    }
  }
}
