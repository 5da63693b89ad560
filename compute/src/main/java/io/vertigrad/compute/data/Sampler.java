package io.vertigrad.compute.data;

/** Decides which samples one worker reads in one epoch, and in which order. */
@FunctionalInterface
public interface Sampler {

  /**
   * Returns the indices of this epoch's samples, from 0. The same arguments give the same result.
   *
   * @param epoch number of the epoch, from 0
   * @return the indices in the order in which they are read
   */
  int[] epoch(int epoch);

  /**
   * Returns the length of {@link #epoch}. It is called for every epoch that is skipped, so it
   * should be cheap.
   *
   * @param epoch number of the epoch, from 0
   * @return a number of samples
   */
  default int length(int epoch) {
    return epoch(epoch).length;
  }
}
