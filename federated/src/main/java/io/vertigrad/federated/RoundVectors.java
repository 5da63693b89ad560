package io.vertigrad.federated;

import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The updates of a round of one partition, read in blocks that fit the processor's cache. The
 * arrays of blocks belong to the thread and are valid until its next {@link #read}.
 */
final class RoundVectors {

  /** Elements of a block. */
  static final int BLOCK = 4096;

  private static final ThreadLocal<List<float[]>> ROWS = ThreadLocal.withInitial(ArrayList::new);

  private final List<FloatBuffer> vectors = new ArrayList<>();
  private final float[][] block;

  /**
   * Reads these updates, and after them another vector.
   *
   * @param gradients in rank order; not borrowed
   * @param last elements of one more vector; empty for none
   */
  RoundVectors(List<GradientPartition> gradients, FloatBuffer last) {
    gradients.forEach(update -> vectors.add(elements(update.gradient())));
    if (last.hasRemaining()) {
      vectors.add(last);
    }
    List<float[]> rows = ROWS.get();
    while (rows.size() < vectors.size()) {
      rows.add(new float[BLOCK]);
    }
    block = rows.subList(0, vectors.size()).toArray(float[][]::new);
  }

  private static FloatBuffer elements(TensorView tensor) {
    if (tensor.isPlain()) {
      return tensor.bytes().asFloatBuffer();
    }
    float[] elements = new float[tensor.length()];
    tensor.copyTo(elements, 0);
    return FloatBuffer.wrap(elements);
  }

  /** Returns the number of vectors. */
  int size() {
    return block.length;
  }

  /**
   * Returns a block of every vector, from index 0 of each array.
   *
   * @param first index of the block's first element
   * @param count number of elements, at most {@link #BLOCK}
   */
  float[][] read(int first, int count) {
    for (int i = 0; i < block.length; i++) {
      FloatBuffer vector = vectors.get(i);
      vector.get(vector.position() + first, block[i], 0, count);
    }
    return block;
  }
}
