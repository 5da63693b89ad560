package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The payload of {@link Encoding#INT8}: blocks of 1,024 elements that share a scale, {@code x =
 * scale * q} with q from -127 to 127.
 *
 * <p>The scale is the block's largest magnitude divided by 127, so a large element reduces the
 * precision of its own block only. Rounding is to nearest, ties to even: the same elements always
 * give the same bytes, and the rounding error is at most half a scale. The scale is not finite if
 * the block holds NaN or infinity, or if its largest element could decode to infinity.
 */
final class Int8Blocks {

  /** Number of elements that share a scale; the scales add 0.4 % to the payload. */
  static final int ELEMENTS = 1_024;

  private static final int LARGEST = 127;

  static final BlockScales SCALES = new BlockScales(ELEMENTS, LARGEST);

  private Int8Blocks() {}

  static long payloadBytes(long elements) {
    return SCALES.blocks(elements) * Float.BYTES + elements;
  }

  /** Encodes the remaining elements of {@code source} and consumes them. */
  static void write(FloatBuffer source, ByteBuffer payload) {
    int length = source.remaining();
    int bytesAt = SCALES.bytes(length);
    float[] block = new float[Math.min(ELEMENTS, length)];
    byte[] coded = new byte[block.length];
    for (int first = 0; first < length; first += ELEMENTS) {
      int count = Math.min(ELEMENTS, length - first);
      source.get(block, 0, count);
      float scale = SCALES.of(block, count, LARGEST);
      payload.putFloat(first / ELEMENTS * Float.BYTES, scale);
      for (int i = 0; i < count; i++) {
        coded[i] = (byte) BlockScales.multiple(block[i], scale, LARGEST);
      }
      payload.put(bytesAt + first, coded, 0, count);
    }
  }

  /**
   * Decodes {@code count} elements, starting with element {@code first}, a multiple of the block
   * size.
   */
  static void read(ByteBuffer payload, int length, int first, int count, float[] to) {
    int bytesAt = SCALES.bytes(length);
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
}
