package io.vertigrad.engine.pytorch;

import java.util.Locale;

/**
 * A GPU of this machine, as NVIDIA's driver describes it.
 *
 * @param number from 0, in CUDA's order
 * @param name such as {@code NVIDIA H100 80GB HBM3}
 * @param major first number of the compute capability
 * @param minor second number of the compute capability
 * @param totalBytes its memory
 */
record Gpu(int number, String name, int major, int minor, long totalBytes) {

  private static final long MIB = 1L << 20;

  /** Returns the compute capability, such as {@code 9.0}. */
  String capability() {
    return major + "." + minor;
  }

  /** Returns the name, compute capability and memory. */
  String text() {
    return String.format(
        Locale.ROOT, "%s, compute capability %s, %,d MiB", name, capability(), totalBytes / MIB);
  }
}
