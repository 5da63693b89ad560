package io.vertigrad.compute.optimizer;

/**
 * A schedule that raises the rate to that of another schedule (Goyal et al., 2017): {@code next *
 * (start + (1 - start) min(1, updates / length))}.
 *
 * @param length number of updates until the full rate
 * @param start factor at the start
 * @param next the schedule that is multiplied
 */
public record WarmUp(long length, double start, LearningRateSchedule next)
    implements LearningRateSchedule {

  public WarmUp {
    if (length < 1) {
      throw new IllegalArgumentException(
          "length is %s updates, expected 1 or more".formatted(length));
    }
  }

  @Override
  public boolean needsRunLength() {
    return next.needsRunLength();
  }

  @Override
  public boolean countsEpochs() {
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
