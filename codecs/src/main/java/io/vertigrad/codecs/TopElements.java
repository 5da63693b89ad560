package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;

/**
 * The payload of {@link Encoding#TOP_K}: the indices of the elements of largest magnitude in
 * ascending order, then their values.
 *
 * <p>Of equal magnitudes the lowest indices are kept, and NaN and infinity are kept before all
 * others. So the same elements always give the same bytes, and an invalid value is never hidden.
 */
final class TopElements {

  /** Size of an entry: a u32 index and a float32 value. */
  static final int ENTRY_BYTES = Integer.BYTES + Float.BYTES;

  private static final int MAGNITUDE_BITS = 0x7fffffff;
  private static final int DIGITS = 256;

  private TopElements() {}

  /**
   * Encodes the {@code kept} largest of the remaining elements of {@code source} and consumes the
   * source.
   */
  static void write(FloatBuffer source, int kept, ByteBuffer payload) {
    float[] values = new float[source.remaining()];
    source.get(values);
    Threshold threshold = kept == 0 ? new Threshold(MAGNITUDE_BITS, 0) : threshold(values, kept);
    int equals = threshold.equals();
    int entry = 0;
    for (int i = 0; i < values.length; i++) {
      int magnitude = magnitude(values[i]);
      if (magnitude > threshold.magnitude() || magnitude == threshold.magnitude() && equals-- > 0) {
        payload.putInt(entry * Integer.BYTES, i);
        payload.putFloat((kept + entry) * Float.BYTES, values[i]);
        entry++;
      }
    }
  }

  /** Decodes {@code count} elements, starting with element {@code first}. */
  static void read(ByteBuffer payload, int first, int count, float[] to) {
    int kept = payload.remaining() / ENTRY_BYTES;
    Arrays.fill(to, 0, count, 0);
    for (int entry = entryAt(payload, kept, first); entry < kept; entry++) {
      int index = payload.getInt(entry * Integer.BYTES) - first;
      if (index >= count) {
        return;
      }
      to[index] = payload.getFloat((kept + entry) * Float.BYTES);
    }
  }

  /**
   * Returns the first entry whose index is out of order or not below {@code length}; -1 if there is
   * none.
   */
  static int firstWrongIndex(ByteBuffer payload, int length) {
    int kept = payload.remaining() / ENTRY_BYTES;
    int before = -1;
    for (int entry = 0; entry < kept; entry++) {
      int index = payload.getInt(entry * Integer.BYTES);
      if (index <= before || index >= length) {
        return entry;
      }
      before = index;
    }
    return -1;
  }

  /**
   * The limit of the kept elements: all of a larger magnitude, and the first few of this magnitude.
   *
   * @param magnitude bits of the smallest magnitude that is kept
   * @param equals number of kept elements of this magnitude
   */
  private record Threshold(int magnitude, int equals) {}

  /** Finds the threshold by radix selection, one byte at a time from the highest. */
  private static Threshold threshold(float[] values, int kept) {
    int prefix = 0;
    int mask = 0;
    int wanted = kept;
    for (int shift = 24; shift >= 0; shift -= 8) {
      int[] counts = new int[DIGITS];
      for (float value : values) {
        int magnitude = magnitude(value);
        if ((magnitude & mask) == prefix) {
          counts[magnitude >>> shift & 0xff]++;
        }
      }
      int digit = DIGITS - 1;
      while (counts[digit] < wanted) {
        wanted -= counts[digit--];
      }
      prefix |= digit << shift;
      mask |= 0xff << shift;
    }
    return new Threshold(prefix, wanted);
  }

  private static int magnitude(float value) {
    return Float.floatToRawIntBits(value) & MAGNITUDE_BITS;
  }

  /** Returns the first entry whose index is at least {@code first}. */
  private static int entryAt(ByteBuffer payload, int kept, int first) {
    int low = 0;
    int high = kept;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (payload.getInt(middle * Integer.BYTES) < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}
