package io.vertigrad.codecs;

import java.nio.ByteBuffer;

/**
 * The float32 scales at the beginning of a payload, one for each block of elements. An element is a
 * multiple of its block's scale.
 *
 * @param elements number of elements of a block; the last may be shorter
 * @param largest largest multiple that an element can be
 */
record BlockScales(int elements, int largest) {

  /** Returns the number of scales of this many elements. */
  long blocks(long length) {
    return (length + elements - 1) / elements;
  }

  /** Returns the number of bytes of the scales, which precede the elements. */
  int bytes(int length) {
    return Math.toIntExact(blocks(length) * Float.BYTES);
  }

  /** Returns the scale of the block that an element belongs to. */
  float of(ByteBuffer payload, int element) {
    return payload.getFloat(element / elements * Float.BYTES);
  }

  /**
   * Returns the scale by which the largest magnitude of a block becomes {@code to}. It is not
   * finite if the block holds NaN or infinity, or if an element could decode to infinity.
   */
  float of(float[] block, int count, int to) {
    float greatest = 0;
    for (int i = 0; i < count; i++) {
      greatest = Math.max(greatest, Math.abs(block[i]));
    }
    return bounded(greatest / to);
  }

  /** Returns the multiple of a scale that is nearest to a value, ties to even. */
  static int multiple(float value, float scale, int largest) {
    double ratio = scale > 0 ? value / scale : 0;
    return (int) Math.max(-largest, Math.min(largest, Math.rint(ratio)));
  }

  /** Returns the scale that was asked for, or infinity if an element could decode to infinity. */
  private float bounded(float scale) {
    return Float.isInfinite(scale * largest) ? Float.POSITIVE_INFINITY : scale;
  }

  /** Returns the largest scale at which no element exceeds a bound. */
  float largestScale(float bound) {
    float scale = bound / largest;
    while (scale > 0 && scale * largest > bound) {
      scale = Math.nextDown(scale);
    }
    return scale;
  }

  /**
   * Returns the first block with an invalid scale: negative, or finite but with a product beyond
   * the range of float. Returns -1 if there is none.
   */
  int firstWrong(ByteBuffer payload, int length) {
    for (int block = 0; block < blocks(length); block++) {
      float scale = payload.getFloat(block * Float.BYTES);
      boolean beyond = Float.isFinite(scale) && Float.isInfinite(scale * largest);
      if (scale < 0 || beyond) {
        return block;
      }
    }
    return -1;
  }
}
