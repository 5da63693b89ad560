package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Targets;
import java.util.List;

/** Copies chosen samples of a data set into a batch. */
record BatchAssembler(Dataset dataset, Augmentation augmentation, long seed) {

  private static final int[] NO_LABELS = {};

  /** Returns a batch of samples {@code order[from]} to {@code order[to - 1]}, in that order. */
  Batch assemble(int[] order, int from, int to, int epoch) {
    List<Integer> shape = dataset.shape();
    int length = shape.stream().reduce(1, Math::multiplyExact);
    int count = to - from;
    float[] features = new float[Math.multiplyExact(count, length)];
    for (int i = 0; i < count; i++) {
      int sample = order[from + i];
      dataset.read(sample, features, i * length);
      augmentation.apply(features, i * length, shape, new SplitMix64(seed, epoch, sample));
    }
    Targets targets = dataset.targets();
    if (targets.kind() != Targets.Kind.CLASS) {
      int outputs = targets.outputs();
      float[] values = new float[Math.multiplyExact(count, outputs)];
      for (int i = 0; i < count; i++) {
        dataset.readTargets(order[from + i], values, i * outputs);
      }
      return new Batch(count, features, NO_LABELS, values, shape, epoch);
    }
    int positions = targets.positions();
    int[] labels = new int[Math.multiplyExact(count, positions)];
    for (int i = 0; i < count; i++) {
      dataset.readLabels(order[from + i], labels, i * positions);
    }
    return positions == 1
        ? new Batch(features, labels, shape, epoch)
        : new Batch(count, features, labels, new float[0], shape, epoch);
  }
}
