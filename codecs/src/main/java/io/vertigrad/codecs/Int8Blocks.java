package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The payload of {@link Encoding#INT8}: blocks of 1,024 elements that share a scale, {@code x =
 * scale * q} with q from -127 to 127.
 *
 * <p>The scale is the block's largest magnitude over 127, so that one large element spoils no other
 * block. Rounding is to the nearest, ties to even: the same elements always give the same bytes,
 * and what rounding leaves is at most half a scale. A block that holds NaN or infinity has a scale
 * that is not finite, and so has one whose largest element could come out as infinity.
 */
final class Int8Blocks {

  /** Elements that share a scale; 4 bytes of scale are 0.4 % of them. */
  static final int ELEMENTS = 1_024;

  private static final int LARGEST = 127;

  private Int8Blocks() {}

  static long payloadBytes(long elements) {
    return blocks(elements) * Float.BYTES + elements;
  }

  /** Number of scales, which come first. */
  static long blocks(long elements) {
    return (elements + ELEMENTS - 1) / ELEMENTS;
  }

  /** Encodes what remains of {@code source} and consumes it. */
  static void write(FloatBuffer source, ByteBuffer payload) {
    int length = source.remaining();
    int bytesAt = (int) blocks(length) * Float.BYTES;
    float[] block = new float[Math.min(ELEMENTS, length)];
    byte[] coded = new byte[block.length];
    for (int first = 0; first < length; first += ELEMENTS) {
      int count = Math.min(ELEMENTS, length - first);
      source.get(block, 0, count);
      float scale = scale(block, count);
      payload.putFloat(first / ELEMENTS * Float.BYTES, scale);
      quantise(block, coded, count, scale);
      payload.put(bytesAt + first, coded, 0, count);
    }
  }

  /** Decodes {@code count} elements from element {@code first} on, a multiple of the block. */
  static void read(ByteBuffer payload, int length, int first, int count, float[] to) {
    int bytesAt = (int) blocks(length) * Float.BYTES;
    for (int i = 0; i < count; i++) {
      to[i] = payload.get(bytesAt + first + i);
    }
    for (int start = 0; start < count; start += ELEMENTS) {
      float scale = payload.getFloat((first + start) / ELEMENTS * Float.BYTES);
      for (int i = start; i < Math.min(count, start + ELEMENTS); i++) {
        to[i] *= scale;
      }
    }
  }

  /** The largest scale with which no element is beyond a bound. */
  static float largestScale(float bound) {
    float scale = bound / LARGEST;
    while (scale > 0 && scale * LARGEST > bound) {
      scale = Math.nextDown(scale);
    }
    return scale;
  }

  /** The first block whose scale no writer gives: negative, or finite but beyond all floats. */
  static int firstWrongScale(ByteBuffer payload, int length) {
    for (int block = 0; block < blocks(length); block++) {
      float scale = payload.getFloat(block * Float.BYTES);
      boolean beyond = Float.isFinite(scale) && Float.isInfinite(scale * LARGEST);
      if (scale < 0 || beyond) {
        return block;
      }
    }
    return -1;
  }

  private static float scale(float[] block, int count) {
    float largest = 0;
    for (int i = 0; i < count; i++) {
      largest = Math.max(largest, Math.abs(block[i]));
    }
    float scale = largest / LARGEST;
    return Float.isInfinite(scale * LARGEST) ? Float.POSITIVE_INFINITY : scale;
  }

  private static void quantise(float[] block, byte[] coded, int count, float scale) {
    for (int i = 0; i < count; i++) {
      double ratio = scale > 0 ? block[i] / scale : 0;
      coded[i] = (byte) Math.max(-LARGEST, Math.min(LARGEST, Math.rint(ratio)));
    }
  }
}
