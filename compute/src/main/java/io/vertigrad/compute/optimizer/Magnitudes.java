package io.vertigrad.compute.optimizer;

import java.util.Objects;

/** Finds the largest magnitude of many numbers with vector instructions. */
public final class Magnitudes {

  /** Number of elements of a block; two blocks fit into the first-level cache. */
  private static final int BLOCK = 2_048;

  private Magnitudes() {}

  /**
   * Returns the largest magnitude of some elements.
   *
   * @param values are not changed
   * @param first index of the first element
   * @param count number of elements
   * @return NaN when an element is NaN, 0 without elements
   */
  public static float largest(float[] values, int first, int count) {
    Objects.checkFromIndexSize(first, count, values.length);
    // The compiler vectorises a loop over two arrays with the same index, but not a reduction into
    // one maximum. So there is one maximum per position of the block.
    float[] block = new float[Math.min(BLOCK, count)];
    float[] most = new float[block.length];
    for (int done = 0; done < count; done += BLOCK) {
      int some = Math.min(BLOCK, count - done);
      System.arraycopy(values, first + done, block, 0, some);
      updateMaxima(most, block, some);
    }
    float largest = 0;
    for (float one : most) {
      largest = Math.max(largest, one);
    }
    return largest;
  }

  private static void updateMaxima(float[] most, float[] block, int count) {
    for (int i = 0; i < count; i++) {
      most[i] = Math.max(most[i], Math.abs(block[i]));
    }
  }
}
