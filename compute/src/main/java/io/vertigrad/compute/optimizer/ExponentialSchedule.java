package io.vertigrad.compute.optimizer;

/**
 * The rate decays steadily: {@code gamma^epochs}.
 *
 * @param gamma what one epoch multiplies the rate by
 */
public record ExponentialSchedule(double gamma) implements LearningRateSchedule {

  @Override
  public double factor(long updates, double epochs) {
    return Math.pow(gamma, epochs);
  }
}
