package io.vertigrad.compute;

import java.util.List;

/**
 * Samples for one gradient step.
 *
 * @param features {@code count * product(shape)} normalised values, sample after sample
 * @param labels class of each sample, {@code count} of them, from 0
 * @param shape one sample's dimensions, channels first: {@code [1, 28, 28]}
 * @param epoch how often its source had been through its samples before, from 0
 */
public record Batch(float[] features, int[] labels, List<Integer> shape, int epoch) {

  /**
   * Number of samples.
   *
   * @return as many as there are labels
   */
  public int count() {
    return labels.length;
  }
}
