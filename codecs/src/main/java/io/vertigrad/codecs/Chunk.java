package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * A thread's reusable stretch of decoded elements, small enough to stay in the first-level cache.
 *
 * <p>Payloads lie at odd addresses in the wire buffer, where an element loop is not vectorised; a
 * bulk copy into a chunk and a plain loop over it are.
 */
final class Chunk {

  /** Elements per chunk; 2,048 measured fastest, 8 KiB each of elements and sums. */
  static final int ELEMENTS = 2_048;

  private static final ThreadLocal<Chunk> OF_THREAD = ThreadLocal.withInitial(Chunk::new);

  private final float[] elements = new float[ELEMENTS];
  private final float[] sums = new float[ELEMENTS];
  private final short[] halves = new short[ELEMENTS];
  private final int[] words = new int[ELEMENTS];
  private final int[] kept = new int[ELEMENTS];

  private Chunk() {}

  /** One stretch of a vector in a chunk's hands. */
  @FunctionalInterface
  interface Stretch {

    /** The {@code count} elements from {@code first} on. */
    void work(Chunk chunk, int first, int count);
  }

  /** Has the calling thread's chunk go over {@code length} elements, stretch after stretch. */
  static void over(int length, Stretch stretch) {
    Chunk chunk = ofThread();
    for (int first = 0; first < length; first += ELEMENTS) {
      stretch.work(chunk, first, Math.min(ELEMENTS, length - first));
    }
  }

  /** The calling thread's chunk; whoever takes it is done with it before anyone else can ask. */
  static Chunk ofThread() {
    return OF_THREAD.get();
  }

  /** The decoded elements, valid up to the count last read. */
  float[] elements() {
    return elements;
  }

  /** Decodes {@code count} elements of a little-endian payload from element {@code first} on. */
  void read(DataType type, ByteBuffer payload, int first, int count) {
    switch (type) {
      case FLOAT32 -> payload.asFloatBuffer().get(first, elements, 0, count);
      case FLOAT16 -> {
        payload.asShortBuffer().get(first, halves, 0, count);
        Float16.widen(halves, elements, count);
      }
      case BFLOAT16 -> {
        payload.asShortBuffer().get(first, halves, 0, count);
        BFloat16.widen(halves, elements, count);
      }
      default -> throw new AssertionError(type);
    }
  }

  /** Encodes the first {@code count} elements into a payload from element {@code first} on. */
  void write(DataType type, ByteBuffer payload, int first, int count) {
    switch (type) {
      case FLOAT32 -> payload.asFloatBuffer().put(first, elements, 0, count);
      case FLOAT16 -> {
        Float16.narrow(elements, halves, count);
        payload.asShortBuffer().put(first, halves, 0, count);
      }
      case BFLOAT16 -> {
        BFloat16.narrow(elements, halves, count);
        payload.asShortBuffer().put(first, halves, 0, count);
      }
      default -> throw new AssertionError(type);
    }
  }

  /** {@code elements[i] += source[i]} for the next {@code count} elements of a source. */
  void add(FloatBuffer source, int count) {
    source.get(sums, 0, count);
    for (int i = 0; i < count; i++) {
      elements[i] += sums[i];
    }
  }

  /** {@code accumulator[at + i] += scale * elements[i]} for the first {@code count} elements. */
  void addTo(float[] accumulator, int at, int count, float scale) {
    // The compiler vectorises only if it sees that both arrays are indexed alike; hence sums.
    System.arraycopy(accumulator, at, sums, 0, count);
    for (int i = 0; i < count; i++) {
      sums[i] += scale * elements[i];
    }
    System.arraycopy(sums, 0, accumulator, at, count);
  }

  /**
   * True when no element in the 32-bit words of a payload from {@code from} up to {@code to} is NaN
   * or larger in magnitude than a bound.
   */
  static boolean areWithin(DataType type, float bound, ByteBuffer payload, int from, int to) {
    return ofThread().isWithin(type.magnitudeLimit(bound), type.signs(), payload, from, to);
  }

  /**
   * True when no element has a magnitude whose bits are above those of the limit. A sign bit that
   * was set beside the limit is borrowed from exactly then; it also keeps the borrow from the other
   * element in the word.
   *
   * <p>Which signs were kept is noted place by place of the chunk and looked at in the end: the
   * compiler makes vectors of that, whereas it adds up a single result element by element.
   */
  private boolean isWithin(int limit, int signs, ByteBuffer payload, int from, int to) {
    IntBuffer source = payload.asIntBuffer();
    Arrays.fill(kept, 0, Math.min(ELEMENTS, to - from), signs);
    for (int first = from; first < to; first += ELEMENTS) {
      int count = Math.min(ELEMENTS, to - first);
      source.get(first, words, 0, count);
      keepSigns(kept, words, limit | signs, ~signs, count);
    }
    int all = signs;
    for (int i = Math.min(ELEMENTS, to - from) - 1; i >= 0; i--) {
      all &= kept[i];
    }
    return all == signs;
  }

  private static void keepSigns(int[] kept, int[] words, int limit, int magnitudes, int count) {
    for (int i = 0; i < count; i++) {
      kept[i] &= limit - (words[i] & magnitudes);
    }
  }
}
