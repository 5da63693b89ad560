package io.vertigrad.strategy;

/**
 * What one worker found in one batch.
 *
 * @param values mean gradient over the batch, then the statistics' differences, in exchange order;
 *     the strategy may overwrite them
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
    float largest = 0;
    for (float value : values) {
      largest = Math.max(largest, Math.abs(value));
    }
    return largest <= bound;
  }

  /**
   * Tells whether it can be applied.
   *
   * @return true when no value is NaN or infinite
   */
  public boolean isFinite() {
    float zero = 0;
    for (float value : values) {
      zero += value * 0;
    }
    return zero == 0;
  }
}
