package io.vertigrad.compute.data;

/** Decides which samples one worker sees in one epoch, and in which order. */
@FunctionalInterface
public interface Sampler {

  /**
   * Indices into the data set for this epoch, from 0. The same arguments give the same answer.
   *
   * @param epoch from 0
   * @return the indices in the order in which they are read
   */
  int[] epoch(int epoch);

  /**
   * Returns how many samples an epoch has, as {@link #epoch} would; asked of every epoch that is
   * passed over, so it should be cheap.
   *
   * @param epoch from 0
   * @return a number of samples
   */
  default int length(int epoch) {
    return epoch(epoch).length;
  }
}
