package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.Arrays;

/**
 * A thread's reusable buffer of decoded elements, small enough to stay in the first-level cache.
 *
 * <p>Payloads start at odd addresses in the wire buffer, where the compiler does not vectorise a
 * loop forEachRange elements. It does vectorise a bulk copy into a chunk and a plain loop
 * forEachRange the chunk.
 */
final class Chunk {

  /** Elements per chunk; 2,048 measured fastest, 8 KiB each of elements and sums. */
  static final int ELEMENTS = 2_048;

  private static final ThreadLocal<Chunk> PER_THREAD = ThreadLocal.withInitial(Chunk::new);

  private final float[] elements = new float[ELEMENTS];
  private final float[] sums = new float[ELEMENTS];
  private final short[] halves = new short[ELEMENTS];
  private final int[] words = new int[ELEMENTS];
  private final int[] kept = new int[ELEMENTS];

  private Chunk() {}

  /** Processes one range of a vector. */
  @FunctionalInterface
  interface RangeTask {

    /** Processes {@code count} elements, starting with element {@code first}. */
    void process(Chunk chunk, int first, int count);
  }

  /**
   * Splits {@code length} elements into ranges and processes each with the calling thread's chunk.
   */
  static void forEachRange(int length, RangeTask task) {
    Chunk chunk = ofThread();
    for (int first = 0; first < length; first += ELEMENTS) {
      task.process(chunk, first, Math.min(ELEMENTS, length - first));
    }
  }

  /**
   * Returns the calling thread's chunk. A caller must finish with it before it calls code that uses
   * a chunk too.
   */
  static Chunk ofThread() {
    return PER_THREAD.get();
  }

  /** Returns the decoded elements, valid up to the count of the last read. */
  float[] elements() {
    return elements;
  }

  /**
   * Decodes {@code count} elements of a little-endian payload, starting with element {@code first}.
   */
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

  /** Encodes the first {@code count} elements into a payload, starting at element {@code first}. */
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

  /** Adds the next {@code count} elements of a source: {@code elements[i] += source[i]}. */
  void add(FloatBuffer source, int count) {
    source.get(sums, 0, count);
    for (int i = 0; i < count; i++) {
      elements[i] += sums[i];
    }
  }

  /**
   * Adds the first {@code count} elements, scaled: {@code accumulator[at + i] += scale *
   * elements[i]}.
   */
  void addTo(float[] accumulator, int at, int count, float scale) {
    // The compiler vectorises this loop only when both arrays have the same index; hence the copy.
    System.arraycopy(accumulator, at, sums, 0, count);
    for (int i = 0; i < count; i++) {
      sums[i] += scale * elements[i];
    }
    System.arraycopy(sums, 0, accumulator, at, count);
  }

  /**
   * Returns true when no element is NaN or larger in magnitude than a bound. Looks at the 32-bit
   * words of the payload with indices {@code from} to {@code to}, exclusive.
   */
  static boolean areWithin(DataType type, float bound, ByteBuffer payload, int from, int to) {
    return ofThread().isWithin(type.magnitudeLimit(bound), type.signs(), payload, from, to);
  }

  /**
   * Returns true when no element has a magnitude whose bits are above those of the limit. Each word
   * is subtracted from the limit with its sign bits set. An element above the limit borrows from
   * its sign bit, which then is 0; the sign bit also keeps the borrow away from the other element
   * of the word.
   *
   * <p>The sign bits are collected per position of the chunk and combined at the end. The compiler
   * vectorises this; it would not vectorise a reduction into one variable.
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
