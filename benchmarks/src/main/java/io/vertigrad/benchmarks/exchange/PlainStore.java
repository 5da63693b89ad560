package io.vertigrad.benchmarks.exchange;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/**
 * What a parameter server cannot do without, in plain loops over whole vectors: a sum of gradients,
 * a step, and the parameters as bytes. Any thread.
 */
final class PlainStore {

  private static final float LEARNING_RATE = 0.1f;
  private static final int STRETCH = 2_048;

  private final float[] parameters;
  private final float[] sum;
  private final float[] stretch = new float[STRETCH];

  PlainStore(int length) {
    parameters = new float[length];
    sum = new float[length];
  }

  /** Adds what remains of a gradient's bytes, from this element on. */
  synchronized void add(int first, ByteBuffer bytes) {
    FloatBuffer gradient = bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    for (int at = first; gradient.hasRemaining(); at += STRETCH) {
      int count = Math.min(STRETCH, gradient.remaining());
      gradient.get(stretch, 0, count);
      for (int i = 0; i < count; i++) {
        sum[at + i] += stretch[i];
      }
    }
  }

  /** Steps by the sum, which is 0 afterwards. */
  synchronized void step() {
    for (int i = 0; i < sum.length; i++) {
      parameters[i] -= LEARNING_RATE * sum[i];
      sum[i] = 0;
    }
  }

  /** Writes all parameters to a buffer from its start on. */
  synchronized void write(ByteBuffer answer) {
    answer.clear().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(parameters);
  }
}
