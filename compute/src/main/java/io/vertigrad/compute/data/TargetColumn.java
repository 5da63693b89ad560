package io.vertigrad.compute.data;

/**
 * A real value that a model predicts. The model is trained on {@code (value - mean) / deviation}.
 *
 * @param name name of the column or field
 * @param mean mean of the training samples; 0 for a value that is not standardised
 * @param deviation their standard deviation; 1 for a value that is not standardised or is constant
 */
public record TargetColumn(String name, double mean, double deviation) {

  /**
   * Returns the number that a model is trained on.
   *
   * @param value value in its own unit
   * @return the value in standard deviations from the mean
   */
  public float standardised(double value) {
    return (float) ((value - mean) / deviation);
  }

  /**
   * Returns a value in its own unit.
   *
   * @param output output of a model, in standard deviations from the mean
   * @return the value
   */
  public double value(double output) {
    return output * deviation + mean;
  }

  /**
   * Returns whether {@link #standardised} changes values.
   *
   * @return false for a mean of 0 and a deviation of 1
   */
  public boolean isStandardised() {
    return mean != 0 || deviation != 1;
  }
}
