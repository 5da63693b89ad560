package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The payload of {@link Encoding#SIGN}: blocks of 1,024 elements that share a magnitude, and one
 * bit for the sign of each element.
 *
 * <p>The magnitude is the mean of the block's magnitudes, as in Karimireddy et al. 2019. It is not
 * finite if the block holds NaN or infinity.
 */
final class SignBlocks {

  static final BlockScales SCALES = new BlockScales(1_024, 1);

  private SignBlocks() {}

  static long payloadBytes(long elements) {
    return SCALES.blocks(elements) * Float.BYTES + (elements + Byte.SIZE - 1) / Byte.SIZE;
  }

  /** Encodes the remaining elements of {@code source} and consumes them. */
  static void write(FloatBuffer source, ByteBuffer payload) {
    int length = source.remaining();
    int bytesAt = SCALES.bytes(length);
    float[] block = new float[Math.min(SCALES.elements(), length)];
    for (int first = 0; first < length; first += block.length) {
      int count = Math.min(block.length, length - first);
      source.get(block, 0, count);
      double sum = 0;
      for (int i = 0; i < count; i++) {
        sum += Math.abs(block[i]);
      }
      payload.putFloat(first / SCALES.elements() * Float.BYTES, (float) (sum / count));
      for (int i = 0; i < count; i += Byte.SIZE) {
        int signs = 0;
        for (int bit = 0; bit < Math.min(Byte.SIZE, count - i); bit++) {
          signs |= block[i + bit] < 0 ? 1 << bit : 0;
        }
        payload.put(bytesAt + (first + i) / Byte.SIZE, (byte) signs);
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
      int signs = payload.get(bytesAt + element / Byte.SIZE);
      to[i] = (signs >> element % Byte.SIZE & 1) == 0 ? scale : -scale;
    }
  }
}
