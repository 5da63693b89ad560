package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.List;

/** Copies chosen samples of a data set side by side into a batch. */
record BatchAssembler(Dataset dataset, Augmentation augmentation, long seed) {

  /** Samples {@code order[from]} to {@code order[to - 1]}, in that order. */
  Batch assemble(int[] order, int from, int to, int epoch) {
    List<Integer> shape = dataset.shape();
    int length = shape.stream().reduce(1, Math::multiplyExact);
    float[] features = new float[Math.multiplyExact(to - from, length)];
    int[] labels = new int[to - from];
    for (int i = 0; i < labels.length; i++) {
      int sample = order[from + i];
      dataset.read(sample, features, i * length);
      augmentation.apply(features, i * length, shape, new SplitMix64(seed, epoch, sample));
      labels[i] = dataset.label(sample);
    }
    return new Batch(features, labels, shape, epoch);
  }
}
