package io.vertigrad.codecs;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/** Writes all elements of a dense payload, each rounded to the nearest value of the data type. */
final class DensePayload {

  private DensePayload() {}

  /** Fills the payload with the next elements of {@code source} and advances the source. */
  static void copy(DataType type, ByteBuffer payload, FloatBuffer source) {
    if (type == DataType.FLOAT32) {
      payload.asFloatBuffer().put(source);
      return;
    }
    Chunk.forEachRange(
        payload.remaining() / type.bytes(),
        (chunk, first, count) -> {
          source.get(chunk.elements(), 0, count);
          chunk.write(type, payload, first, count);
        });
  }

  /**
   * Writes the sums of the remaining elements of {@code source} and the elements of a tensor of the
   * same length. Consumes the source.
   */
  static void sum(DataType type, ByteBuffer payload, FloatBuffer source, TensorView tensor) {
    Chunk.forEachRange(
        tensor.length(),
        (chunk, first, count) -> {
          tensor.read(chunk, first, count);
          chunk.add(source, count);
          chunk.write(type, payload, first, count);
        });
  }
}
