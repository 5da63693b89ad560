package io.vertigrad.compute.data;

/**
 * Divides each epoch's shuffled samples among N workers, as torch's DistributedSampler does.
 *
 * <p>There is one permutation per (seed, epoch), the same on every worker. Its first samples are
 * appended until the length is a multiple of N; worker r takes every N-th element from r on. So all
 * workers have the same number of samples, together they have every sample, and fewer than N
 * samples occur twice.
 *
 * @param samples size of the data set
 * @param workers number of workers, N
 * @param rank rank of this worker, from 0
 * @param seed the same on every worker
 */
public record DistributedSampler(int samples, int workers, int rank, long seed) implements Sampler {

  public DistributedSampler {
    if (samples < 1 || workers < 1 || rank < 0 || rank >= workers) {
      throw new IllegalArgumentException(
          "%s samples for rank %s of %s: expected at least 1 sample and a rank from 0 to %s"
              .formatted(samples, rank, workers, workers - 1));
    }
  }

  /**
   * Returns the number of samples of an epoch that each worker reads.
   *
   * @param samples size of the data set
   * @param workers number of workers that share an epoch
   * @return a number of samples
   */
  public static long share(long samples, int workers) {
    return (samples + workers - 1) / workers;
  }

  @Override
  public int[] epoch(int epoch) {
    int[] permutation = new SplitMix64(seed, epoch).permutation(samples);
    int[] share = new int[length(epoch)];
    for (int i = 0; i < share.length; i++) {
      share[i] = permutation[(int) (((long) i * workers + rank) % samples)];
    }
    return share;
  }

  @Override
  public int length(int epoch) {
    return (int) share(samples, workers);
  }
}
