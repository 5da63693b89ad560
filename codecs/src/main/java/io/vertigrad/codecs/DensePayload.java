package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** Writes all elements of a dense payload, rounded to the nearest of its type. */
final class DensePayload {

  private DensePayload() {}

  /** Puts the next elements into a chunk. */
  @FunctionalInterface
  private interface Source {

    /** The next {@code count}, which are those from {@code first} on. */
    void read(Chunk chunk, int first, int count);
  }

  /** What remains of {@code source}, as many as there is room for; consumes it. */
  static void copy(DataType type, ByteBuffer payload, FloatBuffer source) {
    if (type == DataType.FLOAT32) {
      payload.asFloatBuffer().put(source);
      return;
    }
    write(type, payload, (chunk, first, count) -> source.get(chunk.elements(), 0, count));
  }

  /** The sums of what remains of {@code source}, which is consumed, and of a tensor as long. */
  static void sum(DataType type, ByteBuffer payload, FloatBuffer source, Tensor tensor) {
    write(
        type,
        payload,
        (chunk, first, count) -> {
          tensor.read(chunk, first, count);
          chunk.add(source, count);
        });
  }

  private static void write(DataType type, ByteBuffer payload, Source source) {
    int length = payload.remaining() / type.bytes();
    Chunk chunk = Chunk.ofThread();
    for (int first = 0; first < length; first += Chunk.ELEMENTS) {
      int count = Math.min(Chunk.ELEMENTS, length - first);
      source.read(chunk, first, count);
      chunk.write(type, payload, first, count);
    }
  }
}
