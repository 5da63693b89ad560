package io.vertigrad.engine.dl4j.kernels;

/**
 * Java arrays that the layers of one network share; their content is valid within one call only.
 *
 * <p>A kernel copies native memory tile by tile into an array, computes there, where the compiler
 * vectorises, and copies the result back. One network runs on one thread, so one set serves all its
 * layers.
 */
final class Scratch {

  /** Number of elements of a tile: 32 KiB, which stays in the first-level cache. */
  static final int TILE = 8192;

  private static final int SLOTS = 5;

  private final float[][] floats = new float[SLOTS][0];
  private final int[][] ints = new int[SLOTS][0];

  /**
   * Returns at least {@code length} floats with undefined content. All callers that use this slot
   * share the array.
   */
  float[] floats(int slot, int length) {
    if (floats[slot].length < length) {
      floats[slot] = new float[length];
    }
    return floats[slot];
  }

  /**
   * Returns at least {@code length} ints with undefined content. All callers that use this slot
   * share the array.
   */
  int[] ints(int slot, int length) {
    if (ints[slot].length < length) {
      ints[slot] = new int[length];
    }
    return ints[slot];
  }
}
