package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Block;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Reads and writes a network's flat native array in exchange order. */
final class FlatVector {

  private static final int TILE = 8192;

  private final INDArray array;
  private final FloatBuffer memory;
  private final SegmentTable table;
  private final float[] tile = new float[TILE];

  FlatVector(INDArray array, SegmentTable table) {
    this.array = array;
    this.memory = NativeFloats.of(array);
    this.table = table;
    int length = table.layout().length();
    if (array.length() != length) {
      throw new IllegalArgumentException(
          "network with %s parameters has %s gradients: frozen layers cannot be trained here"
              .formatted(length, array.length()));
    }
  }

  /**
   * Fills the destination with the elements from {@code first} on, with one bulk copy per segment.
   */
  void read(int first, FloatBuffer destination) {
    read(first, destination, 1);
  }

  /**
   * Reads like {@link #read(int, FloatBuffer)} and multiplies trainable elements by {@code scale}.
   */
  void read(int first, FloatBuffer destination, float scale) {
    int count = destination.remaining();
    checkRange(first, count);
    NativeFloats.fetch(array);
    for (SegmentTable.Segment segment : table.segments()) {
      int length = segment.overlap(first, count);
      if (length > 0) {
        int from = segment.memory() + Math.max(0, first - segment.exchange());
        if (scale == 1 || segment.kind() == Block.Kind.STATISTIC) {
          destination.put(memory.slice(from, length));
        } else {
          scaled(from, length, scale, destination);
        }
      }
    }
  }

  /** Adds {@code count} elements, scaled: {@code sum[first + i] += scale * this[first + i]}. */
  void add(float[] sum, int first, int count, float scale) {
    checkRange(first, count);
    NativeFloats.fetch(array);
    for (SegmentTable.Segment segment : table.segments()) {
      int length = segment.overlap(first, count);
      if (length > 0) {
        int skipped = Math.max(0, first - segment.exchange());
        add(segment.memory() + skipped, length, scale, sum, segment.exchange() + skipped);
      }
    }
  }

  /** Writes the source to the elements from {@code first} on and consumes it. */
  void write(int first, FloatBuffer source) {
    int count = source.remaining();
    checkRange(first, count);
    NativeFloats.fetch(array);
    for (SegmentTable.Segment segment : table.segments()) {
      int length = segment.overlap(first, count);
      if (length > 0) {
        int to = segment.memory() + Math.max(0, first - segment.exchange());
        memory.put(to, source, source.position(), length);
        source.position(source.position() + length);
      }
    }
    NativeFloats.written(array);
  }

  /** Copies and scales tile by tile, so the data crosses main memory only once. */
  private void scaled(int from, int length, float scale, FloatBuffer destination) {
    for (int done = 0; done < length; done += TILE) {
      int some = Math.min(TILE, length - done);
      memory.get(from + done, tile, 0, some);
      for (int i = 0; i < some; i++) {
        tile[i] *= scale;
      }
      destination.put(tile, 0, some);
    }
  }

  private void add(int from, int length, float scale, float[] sum, int to) {
    for (int done = 0; done < length; done += TILE) {
      int some = Math.min(TILE, length - done);
      memory.get(from + done, tile, 0, some);
      for (int i = 0; i < some; i++) {
        sum[to + done + i] += tile[i] * scale;
      }
    }
  }

  private void checkRange(int first, int count) {
    if (first < 0 || first + (long) count > array.length()) {
      throw new IndexOutOfBoundsException(
          "elements %s to %s: expected within 0 to %s"
              .formatted(first, first + count, array.length()));
    }
  }
}
