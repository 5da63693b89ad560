package io.vertigrad.benchmarks.jmh;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import java.nio.FloatBuffer;
import java.util.Random;

/** A gradient of the default partition size: 447 KiB of random float32. */
final class FullFrame {

  static final int ELEMENTS = 114_432;
  static final int PAYLOAD_BYTES = 4 * ELEMENTS;

  private FullFrame() {}

  static float[] values(long seed) {
    Random random = new Random(seed);
    float[] values = new float[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }

  static Tensor tensor(DataType type, long seed) {
    return Tensor.copyOf(type, FloatBuffer.wrap(values(seed)));
  }

  static GradientPartition gradient(int worker, long step, TensorView tensor) {
    ExchangeId id = new ExchangeId(Addresses.hash("jmh"), worker, 0, 1, step, 0);
    return new GradientPartition(id, 42, step, 128, 0, tensor);
  }
}
