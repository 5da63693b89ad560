package io.vertigrad.benchmarks.owndata;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SplitMix64;
import java.util.function.IntUnaryOperator;

/** Full batches of one worker's own samples, shuffled anew in each epoch. Single-threaded. */
final class WorkerSamples {

  private final Dataset dataset;
  private final int[] own;
  private final IntUnaryOperator relabel;
  private final long seed;
  private final int rank;
  private int[] order = {};
  private int next;
  private int epoch;

  /**
   * Creates the samples before their first batch.
   *
   * @param own indices of the worker's samples
   * @param relabel returns the class that the worker takes for the true one
   */
  WorkerSamples(Dataset dataset, int[] own, IntUnaryOperator relabel, long seed, int rank) {
    this.dataset = dataset;
    this.own = own;
    this.relabel = relabel;
    this.seed = seed;
    this.rank = rank;
  }

  /**
   * Returns the next batch; samples that do not fill one are left out of the epoch.
   *
   * @param count number of samples, at most as many as the worker has
   */
  Batch next(int count) {
    if (next + count > order.length) {
      order = new SplitMix64(seed, rank, epoch).permutation(own.length);
      next = 0;
      epoch++;
    }
    int length = dataset.shape().stream().reduce(1, Math::multiplyExact);
    float[] features = new float[count * length];
    int[] labels = new int[count];
    for (int i = 0; i < count; i++) {
      int sample = own[order[next + i]];
      dataset.read(sample, features, i * length);
      labels[i] = relabel.applyAsInt(dataset.label(sample));
    }
    next += count;
    return new Batch(features, labels, dataset.shape(), epoch - 1);
  }
}
