package io.vertigrad.strategy;

import io.vertigrad.compute.optimizer.Magnitudes;

/**
 * What one worker found in one batch.
 *
 * @param values mean gradient over the batch, then the statistics' differences, in exchange order;
 *     the strategy may overwrite them. In an array that the strategy {@linkplain
 *     PeerStrategy#gradientArray() gave}, what lies behind them is the strategy's
 * @param samples in the batch
 */
public record LocalGradient(float[] values, int samples) {

  /**
   * Tells whether it can be applied where a job bounds its elements.
   *
   * @param bound largest magnitude allowed, finite
   * @return true when no value is NaN, infinite, or larger in magnitude
   */
  public boolean isWithin(float bound) {
    return Magnitudes.largest(values, 0, values.length) <= bound;
  }

  /**
   * Tells whether it can be applied.
   *
   * @return true when no value is NaN or infinite
   */
  public boolean isFinite() {
    return isWithin(Float.MAX_VALUE);
  }
}
