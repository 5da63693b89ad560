package io.vertigrad.compute.data;

/**
 * Gives every worker all samples, shuffled by itself ({@code sampler: none}).
 *
 * <p>What Ray's parameter-server example does: nothing is shared out, and two workers see the same
 * sample at different times.
 *
 * @param samples size of the data set
 * @param rank this worker's, from 0; enters the seed
 * @param seed of the run
 */
public record ShuffledSampler(int samples, int rank, long seed) implements Sampler {

  public ShuffledSampler {
    if (samples < 1 || rank < 0) {
      throw new IllegalArgumentException(
          "%d samples for rank %d: expected at least 1 sample and a rank from 0"
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
