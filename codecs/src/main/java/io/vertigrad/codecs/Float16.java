package io.vertigrad.codecs;

/**
 * Converts between float32 and IEEE 754 binary16. Rounds to nearest, ties to even.
 *
 * <p>NaN stays NaN and keeps the upper ten bits of its payload. A value that rounds above 65,504
 * becomes infinity. Subnormals are kept.
 */
final class Float16 {

  private static final int INFINITY = 0x7c00;
  private static final int QUIET = 0x0200;

  /** Exponent bias of float32 minus that of binary16. */
  private static final int REBIAS = 127 - 15;

  private static final float[] WIDENED = widened();

  private Float16() {}

  static float widen(short half) {
    return WIDENED[half & 0xffff];
  }

  /** Sets {@code to[i] = from[i]} for the first {@code count} elements; exact. */
  static void widen(short[] from, float[] to, int count) {
    for (int i = 0; i < count; i++) {
      to[i] = WIDENED[from[i] & 0xffff];
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
    int magnitude = bits & 0x7fffffff;
    return (short) ((bits >>> 16) & 0x8000 | narrowMagnitude(magnitude));
  }

  private static int narrowMagnitude(int bits) {
    if (bits > 0x7f800000) {
      int payload = (bits >>> 13) & 0x3ff;
      return INFINITY | (payload == 0 ? QUIET : payload);
    }
    if (bits >= (REBIAS + 31) << 23) {
      return INFINITY;
    }
    if (bits >= (REBIAS + 1) << 23) {
      int tieToEven = 0xfff + ((bits >>> 13) & 1);
      return (bits - (REBIAS << 23) + tieToEven) >>> 13;
    }
    // A subnormal half counts units of 2^-24, the ulp of 0.5f, so adding 0.5f rounds it.
    return Float.floatToRawIntBits(Float.intBitsToFloat(bits) + 0.5f) & 0x7fff;
  }

  private static float[] widened() {
    float[] all = new float[1 << 16];
    for (int half = 0; half < all.length; half++) {
      int sign = (half & 0x8000) << 16;
      all[half] = Float.intBitsToFloat(sign | widenMagnitude(half >> 10 & 0x1f, half & 0x3ff));
    }
    return all;
  }

  private static int widenMagnitude(int exponent, int mantissa) {
    if (exponent == 0) {
      return Float.floatToRawIntBits(Math.scalb((float) mantissa, -24));
    }
    int widened = exponent == 31 ? 255 : exponent + REBIAS;
    return widened << 23 | mantissa << 13;
  }
}
