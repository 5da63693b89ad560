package io.vertigrad.compute.data;

import io.vertigrad.compute.Batch;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.stream.IntStream;

/**
 * Batches for evaluation: every chosen sample once, in a fixed order, never padded.
 *
 * <p>Each iterator starts at the first batch. Immutable; batches are assembled on the caller's
 * thread.
 */
public final class SequentialBatches implements Iterable<Batch> {

  private final BatchAssembler assembler;
  private final int[] order;
  private final int batchSize;

  private SequentialBatches(Dataset dataset, int[] order, int batchSize) {
    if (batchSize < 1) {
      throw new IllegalArgumentException(
          "batch size is %s, expected at least 1".formatted(batchSize));
    }
    this.assembler = new BatchAssembler(dataset, Augmentation.none(), 0);
    this.order = order;
    this.batchSize = batchSize;
  }

  /**
   * Returns batches of the whole data set in its own order.
   *
   * @param dataset the data set to read
   * @param batchSize samples of a batch; the last one may be smaller
   * @return the batches
   */
  public static SequentialBatches all(Dataset dataset, int batchSize) {
    return new SequentialBatches(dataset, IntStream.range(0, dataset.size()).toArray(), batchSize);
  }

  /**
   * Returns batches of the first {@code samples} of the shuffled data set, or of all samples if it
   * has fewer.
   *
   * @param dataset the data set to read
   * @param batchSize samples of a batch; the last one may be smaller
   * @param samples how many samples
   * @param seeds seeds of the shuffle, as for {@link SplitMix64}
   * @return the batches
   */
  public static SequentialBatches subset(
      Dataset dataset, int batchSize, int samples, long... seeds) {
    if (samples < 1) {
      throw new IllegalArgumentException("%s samples, expected at least 1".formatted(samples));
    }
    int[] shuffled = new SplitMix64(seeds).permutation(dataset.size());
    return new SequentialBatches(
        dataset, Arrays.copyOf(shuffled, Math.min(samples, shuffled.length)), batchSize);
  }

  /**
   * Returns the number of samples in all batches together.
   *
   * @return a number of samples
   */
  public int samples() {
    return order.length;
  }

  @Override
  public Iterator<Batch> iterator() {
    return new Iterator<>() {
      private int next;

      @Override
      public boolean hasNext() {
        return next < order.length;
      }

      @Override
      public Batch next() {
        if (!hasNext()) {
          throw new NoSuchElementException("all %s samples were read".formatted(order.length));
        }
        int from = next;
        next = Math.min(order.length, from + batchSize);
        return assembler.assemble(order, from, next, 0);
      }
    };
  }
}
