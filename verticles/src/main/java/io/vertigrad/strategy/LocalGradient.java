package io.vertigrad.strategy;

import io.vertigrad.compute.optimizer.Magnitudes;

/**
 * The gradient that one worker computed from one batch.
 *
 * @param values mean gradient over the batch, then the statistics' differences, in exchange order;
 *     the strategy may overwrite them. In an array from {@link PeerStrategy#gradientArray()},
 *     elements after them belong to the strategy
 * @param samples number of samples in the batch
 */
public record LocalGradient(float[] values, int samples) {

  /**
   * Returns whether the gradient can be applied when a job bounds its elements.
   *
   * @param bound largest magnitude allowed, finite
   * @return true when no value is NaN, infinite, or larger in magnitude
   */
  public boolean isWithin(float bound) {
    return Magnitudes.largest(values, 0, values.length) <= bound;
  }

  /**
   * Returns whether the gradient can be applied.
   *
   * @return true when no value is NaN or infinite
   */
  public boolean isFinite() {
    return isWithin(Float.MAX_VALUE);
  }
}
