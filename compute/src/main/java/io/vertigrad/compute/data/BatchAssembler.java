package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Targets;
import java.util.List;

/** Copies chosen samples of a data set into a batch. */
record BatchAssembler(Dataset dataset, Augmentation augmentation, long seed) {

  private static final int[] NO_LABELS = {};

  /** Reads something of one sample of a batch. */
  private interface SampleReader {
    void read(int sample, int place);
  }

  /**
   * Returns a batch of samples {@code order[from]} to {@code order[to - 1]}, in that order.
   *
   * @throws DataException of the data set
   * @throws ComponentException when the data set throws anything else
   */
  Batch assemble(int[] order, int from, int to, int epoch) {
    List<Integer> shape = dataset.shape();
    int length = shape.stream().reduce(1, Math::multiplyExact);
    int count = to - from;
    float[] features = new float[Math.multiplyExact(count, length)];
    forEach(
        order,
        from,
        to,
        (sample, i) -> {
          dataset.read(sample, features, i * length);
          augmentation.apply(features, i * length, shape, new SplitMix64(seed, epoch, sample));
        });
    Targets targets = dataset.targets();
    if (targets.kind() != Targets.Kind.CLASS) {
      int outputs = targets.outputs();
      float[] values = new float[Math.multiplyExact(count, outputs)];
      forEach(order, from, to, (sample, i) -> dataset.readTargets(sample, values, i * outputs));
      return new Batch(count, features, NO_LABELS, values, shape, epoch);
    }
    int positions = targets.positions();
    int[] labels = new int[Math.multiplyExact(count, positions)];
    forEach(order, from, to, (sample, i) -> dataset.readLabels(sample, labels, i * positions));
    return positions == 1
        ? new Batch(features, labels, shape, epoch)
        : new Batch(count, features, labels, new float[0], shape, epoch);
  }

  private void forEach(int[] order, int from, int to, SampleReader reader) {
    for (int i = from; i < to; i++) {
      try {
        reader.read(order[i], i - from);
      } catch (RuntimeException | Error thrown) {
        throw ComponentException.of(
            "data set " + dataset.getClass().getName(), "sample " + order[i], thrown);
      }
    }
  }
}
