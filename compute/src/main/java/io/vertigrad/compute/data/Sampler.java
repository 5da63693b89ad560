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
}
