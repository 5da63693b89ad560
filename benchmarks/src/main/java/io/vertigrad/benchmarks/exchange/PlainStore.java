package io.vertigrad.benchmarks.exchange;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/**
 * Does the minimum work of a parameter server, in plain loops over whole vectors: a sum of
 * gradients, a step, and the parameters as bytes. Any thread may use it.
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

  /** Adds the remaining bytes of a gradient, from this element on. */
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

  /** Takes a step with the sum and sets the sum to 0. */
  synchronized void step() {
    for (int i = 0; i < sum.length; i++) {
      parameters[i] -= LEARNING_RATE * sum[i];
      sum[i] = 0;
    }
  }

  /** Writes all parameters to the start of a buffer. */
  synchronized void write(ByteBuffer answer) {
    answer.clear().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(parameters);
  }
}
