package io.vertigrad.engine.dl4j.kernels;

/**
 * Java arrays that the layers of one network lend each other within a call.
 *
 * <p>A kernel copies native memory in tiles into an array, computes there, where the compiler
 * vectorises, and copies back. One network runs on one thread, so one set serves all its layers.
 */
final class Scratch {

  /** Elements of a tile: 32 KiB, which stays in the processor's nearest caches. */
  static final int TILE = 8192;

  private static final int SLOTS = 5;

  private final float[][] floats = new float[SLOTS][0];
  private final int[][] ints = new int[SLOTS][0];

  /** At least {@code length} floats of any value, shared by all that ask for this slot. */
  float[] floats(int slot, int length) {
    if (floats[slot].length < length) {
      floats[slot] = new float[length];
    }
    return floats[slot];
  }

  /** At least {@code length} ints of any value, shared by all that ask for this slot. */
  int[] ints(int slot, int length) {
    if (ints[slot].length < length) {
      ints[slot] = new int[length];
    }
    return ints[slot];
  }
}
