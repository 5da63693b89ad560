package io.vertigrad.compute.data;

/**
 * Gives every worker all samples, in an order of its own ({@code sampler: none}).
 *
 * <p>Ray's parameter-server example does the same: samples are not divided, and two workers read
 * the same sample at different times.
 *
 * @param samples size of the data set
 * @param rank rank of this worker, from 0; part of the seed
 * @param seed seed of the run
 */
public record ShuffledSampler(int samples, int rank, long seed) implements Sampler {

  public ShuffledSampler {
    if (samples < 1 || rank < 0) {
      throw new IllegalArgumentException(
          "%s samples for rank %s: expected at least 1 sample and a rank from 0"
              .formatted(samples, rank));
    }
  }

  @Override
  public int[] epoch(int epoch) {
    return new SplitMix64(seed, rank, epoch).permutation(samples);
  }

  @Override
  public int length(int epoch) {
    return samples;
  }
}
