package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Targets;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.IntStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Native input arrays for batches of one size: features, and targets either one-hot or as they are.
 * They are created once and refilled for every batch.
 */
final class BatchArrays {

  private final INDArray features;
  private final INDArray labels;
  private final FloatBuffer input;
  private final FloatBuffer target;
  private final int classes;
  private final boolean oneHot;

  /** Index of the 1 that each row had in the last batch. */
  private final int[] hot;

  /**
   * Creates arrays for batches of one size, with one class per sample.
   *
   * @param count samples in a batch
   * @param sample one sample's dimensions as the network takes them
   * @param classes length of a one-hot label
   */
  BatchArrays(int count, List<Integer> sample, int classes) {
    this(count, sample, Targets.classes(classes));
  }

  /**
   * Creates arrays for batches of one size.
   *
   * @param count samples in a batch
   * @param sample one sample's dimensions as the network takes them
   * @param targets what the model predicts for each sample, at one position
   */
  BatchArrays(int count, List<Integer> sample, Targets targets) {
    long[] shape = new long[1 + sample.size()];
    shape[0] = count;
    for (int i = 0; i < sample.size(); i++) {
      shape[i + 1] = sample.get(i);
    }
    this.features = Nd4j.create(DataType.FLOAT, shape, 'c');
    this.labels = Nd4j.create(DataType.FLOAT, new long[] {count, targets.outputs()}, 'c');
    this.input = NativeFloats.of(features);
    this.target = NativeFloats.of(labels);
    this.classes = targets.outputs();
    this.oneHot = targets.kind() == Targets.Kind.CLASS;
    this.hot = IntStream.range(0, count).map(row -> row * classes).toArray();
  }

  /**
   * Copies a batch into the arrays.
   *
   * @throws IllegalArgumentException when a label, or the number of features or targets does not
   *     fit
   */
  void fill(Batch batch) {
    fillFeatures(batch);
    if (oneHot) {
      mark(batch.labels());
    } else {
      put(batch);
    }
    NativeFloats.written(labels);
  }

  /**
   * Copies only the features of a batch into the arrays.
   *
   * @throws IllegalArgumentException when their number does not fit
   */
  void fillFeatures(Batch batch) {
    if (batch.features().length != input.capacity()) {
      throw new IllegalArgumentException(
          "batch of %s samples with %s values, expected %s"
              .formatted(batch.count(), batch.features().length, input.capacity()));
    }
    input.put(0, batch.features());
    NativeFloats.written(features);
  }

  private void mark(int[] classesOfSamples) {
    if (classesOfSamples.length != hot.length) {
      throw new IllegalArgumentException(
          "batch of %s samples with %s labels, expected one for each: the targets are classes"
              .formatted(hot.length, classesOfSamples.length));
    }
    for (int i = 0; i < hot.length; i++) {
      int label = classesOfSamples[i];
      if (label < 0 || label >= classes) {
        throw new IllegalArgumentException(
            "label %s of sample %s: expected 0 to %s".formatted(label, i, classes - 1));
      }
      target.put(hot[i], 0);
      hot[i] = i * classes + label;
      target.put(hot[i], 1);
    }
  }

  private void put(Batch batch) {
    if (batch.targets().length != target.capacity()) {
      throw new IllegalArgumentException(
          "batch of %s samples with %s targets, expected %s"
              .formatted(batch.count(), batch.targets().length, target.capacity()));
    }
    target.put(0, batch.targets());
  }

  INDArray features() {
    return features;
  }

  INDArray labels() {
    return labels;
  }
}
