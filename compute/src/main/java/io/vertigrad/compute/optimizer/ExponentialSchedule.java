package io.vertigrad.compute.optimizer;

/**
 * A schedule that decays exponentially: {@code gamma^epochs}.
 *
 * @param gamma factor per epoch
 */
public record ExponentialSchedule(double gamma) implements LearningRateSchedule {

  @Override
  public boolean countsEpochs() {
    return true;
  }

  @Override
  public double factor(long updates, double epochs) {
    return Math.pow(gamma, epochs);
  }
}
