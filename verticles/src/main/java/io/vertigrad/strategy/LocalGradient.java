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
