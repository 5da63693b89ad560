package io.vertigrad.compute.optimizer;

/**
 * The rate rises to what another schedule says (Goyal et al., 2017): {@code next * (start + (1 -
 * start) min(1, updates / length))}.
 *
 * @param length updates until the rate is whole
 * @param start the factor it starts at
 * @param next the schedule that it multiplies
 */
public record WarmUp(long length, double start, LearningRateSchedule next)
    implements LearningRateSchedule {

  public WarmUp {
    if (length < 1) {
      throw new IllegalArgumentException(
          "length is %d updates, expected 1 or more".formatted(length));
    }
  }

  @Override
  public boolean needsRunLength() {
    return next.needsRunLength();
  }

  @Override
  public boolean isFinite() {
    return true;
  }

  @Override
  public LearningRateSchedule over(double runEpochs) {
    return new WarmUp(length, start, next.over(runEpochs));
  }

  @Override
  public double factor(long updates, double epochs) {
    double done = Math.min(1, (double) updates / length);
    return next.factor(updates, epochs) * (start + (1 - start) * done);
  }
}
