package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** Writes all elements of a dense payload, rounded to the nearest of its type. */
final class DensePayload {

  private DensePayload() {}

  /** What remains of {@code source}, as many as there is room for; consumes it. */
  static void copy(DataType type, ByteBuffer payload, FloatBuffer source) {
    if (type == DataType.FLOAT32) {
      payload.asFloatBuffer().put(source);
      return;
    }
    Chunk.over(
        payload.remaining() / type.bytes(),
        (chunk, first, count) -> {
          source.get(chunk.elements(), 0, count);
          chunk.write(type, payload, first, count);
        });
  }

  /** The sums of what remains of {@code source}, which is consumed, and of a tensor as long. */
  static void sum(DataType type, ByteBuffer payload, FloatBuffer source, TensorView tensor) {
    Chunk.over(
        tensor.length(),
        (chunk, first, count) -> {
          tensor.read(chunk, first, count);
          chunk.add(source, count);
          chunk.write(type, payload, first, count);
        });
  }
}
