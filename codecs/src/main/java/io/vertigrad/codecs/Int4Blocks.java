package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The payload of {@link Encoding#INT4}: blocks of 128 elements that share a scale, {@code x = scale
 * * q} with q from -7 to 7, two in a byte.
 *
 * <p>The scale is the block's largest magnitude divided by 7. Rounding is to nearest, ties to even.
 * The scale is not finite if the block holds NaN or infinity, or if its largest element could
 * decode to infinity.
 */
final class Int4Blocks {

  /** A written q never is -8, but a byte can hold it. The scales add 6 % to the payload. */
  static final BlockScales SCALES = new BlockScales(128, 8);

  private static final int LARGEST = 7;

  private Int4Blocks() {}

  static long payloadBytes(long elements) {
    return SCALES.blocks(elements) * Float.BYTES + (elements + 1) / 2;
  }

  /** Encodes the remaining elements of {@code source} and consumes them. */
  static void write(FloatBuffer source, ByteBuffer payload) {
    int length = source.remaining();
    int bytesAt = SCALES.bytes(length);
    float[] block = new float[Math.min(SCALES.elements(), length)];
    for (int first = 0; first < length; first += block.length) {
      int count = Math.min(block.length, length - first);
      source.get(block, 0, count);
      float scale = SCALES.of(block, count, LARGEST);
      payload.putFloat(first / SCALES.elements() * Float.BYTES, scale);
      for (int i = 0; i < count; i += 2) {
        int low = BlockScales.multiple(block[i], scale, LARGEST) & 0xf;
        int high = i + 1 < count ? BlockScales.multiple(block[i + 1], scale, LARGEST) & 0xf : 0;
        payload.put(bytesAt + (first + i) / 2, (byte) (high << 4 | low));
      }
    }
  }

  /** Decodes {@code count} elements, starting with an element that begins a block. */
  static void read(ByteBuffer payload, int length, int first, int count, float[] to) {
    int bytesAt = SCALES.bytes(length);
    float scale = 0;
    for (int i = 0; i < count; i++) {
      int element = first + i;
      if (element % SCALES.elements() == 0) {
        scale = SCALES.of(payload, element);
      }
      int pair = payload.get(bytesAt + element / 2);
      // Shifts that keep the sign: the low four bits, or the high ones.
      int q = element % 2 == 0 ? pair << 28 >> 28 : pair >> 4;
      to[i] = scale * q;
    }
  }
}
