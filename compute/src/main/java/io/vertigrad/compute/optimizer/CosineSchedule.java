package io.vertigrad.compute.optimizer;

/**
 * A schedule that follows half a cosine (Loshchilov and Hutter, 2017): {@code least + (1 - least)
 * (1 + cos(pi t)) / 2} with {@code t = min(1, epochs / length)}.
 *
 * @param length epochs until the rate is lowest
 * @param least factor at the end
 */
public record CosineSchedule(double length, double least) implements LearningRateSchedule {

  public CosineSchedule {
    if (!(length > 0)) {
      throw new IllegalArgumentException(
          "length is %s epochs, expected more than 0".formatted(length));
    }
  }

  @Override
  public boolean countsEpochs() {
    return true;
  }

  @Override
  public double factor(long updates, double epochs) {
    double done = Math.min(1, epochs / length);
    return least + (1 - least) * (1 + Math.cos(Math.PI * done)) / 2;
  }
}
