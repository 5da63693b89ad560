package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.IntStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Native input arrays for batches of one size: features and one-hot labels, made once, refilled.
 */
final class BatchArrays {

  private final INDArray features;
  private final INDArray labels;
  private final FloatBuffer input;
  private final FloatBuffer target;
  private final int classes;

  /** Where each row has, or may have, its 1. */
  private final int[] hot;

  /**
   * Arrays for batches of one size.
   *
   * @param count samples in a batch
   * @param sample one sample's dimensions as the network takes them
   * @param classes width of a one-hot label
   */
  BatchArrays(int count, List<Integer> sample, int classes) {
    long[] shape = new long[1 + sample.size()];
    shape[0] = count;
    for (int i = 0; i < sample.size(); i++) {
      shape[i + 1] = sample.get(i);
    }
    this.features = Nd4j.create(DataType.FLOAT, shape, 'c');
    this.labels = Nd4j.create(DataType.FLOAT, new long[] {count, classes}, 'c');
    this.input = NativeFloats.of(features);
    this.target = NativeFloats.of(labels);
    this.classes = classes;
    this.hot = IntStream.range(0, count).map(row -> row * classes).toArray();
  }

  /**
   * Copies a batch in.
   *
   * @throws IllegalArgumentException when a label or the number of features does not fit
   */
  void fill(Batch batch) {
    if (batch.features().length != input.capacity()) {
      throw new IllegalArgumentException(
          "batch of %d samples with %d values, expected %d"
              .formatted(batch.count(), batch.features().length, input.capacity()));
    }
    input.put(0, batch.features());
    for (int i = 0; i < hot.length; i++) {
      int label = batch.labels()[i];
      if (label < 0 || label >= classes) {
        throw new IllegalArgumentException(
            "label %d of sample %d: expected 0 to %d".formatted(label, i, classes - 1));
      }
      target.put(hot[i], 0);
      hot[i] = i * classes + label;
      target.put(hot[i], 1);
    }
    NativeFloats.written(features);
    NativeFloats.written(labels);
  }

  INDArray features() {
    return features;
  }

  INDArray labels() {
    return labels;
  }
}
