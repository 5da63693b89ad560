package io.vertigrad.codecs;

/**
 * Converts between float32 and bfloat16, which is the upper half of a float32. Rounds to nearest,
 * ties to even.
 *
 * <p>NaN stays NaN and keeps the upper seven bits of its payload. Subnormals are kept.
 */
final class BFloat16 {

  private static final int QUIET = 0x0040;

  private BFloat16() {}

  static float widen(short half) {
    return Float.intBitsToFloat(half << 16);
  }

  /** Sets {@code to[i] = from[i]} for the first {@code count} elements; exact. */
  static void widen(short[] from, float[] to, int count) {
    for (int i = 0; i < count; i++) {
      to[i] = Float.intBitsToFloat(from[i] << 16);
    }
  }

  /** Sets {@code to[i] = from[i]}, rounded, for the first {@code count} elements. */
  static void narrow(float[] from, short[] to, int count) {
    for (int i = 0; i < count; i++) {
      to[i] = narrow(from[i]);
    }
  }

  static short narrow(float value) {
    int bits = Float.floatToRawIntBits(value);
    if (Float.isNaN(value)) {
      int upper = bits >>> 16;
      return (short) ((upper & 0x7f) == 0 ? upper | QUIET : upper);
    }
    int tieToEven = 0x7fff + ((bits >>> 16) & 1);
    return (short) ((bits + tieToEven) >>> 16);
  }
}
