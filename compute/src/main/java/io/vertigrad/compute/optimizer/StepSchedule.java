package io.vertigrad.compute.optimizer;

import java.util.List;

/**
 * A schedule that lowers the rate at given epochs: {@code gamma^k}, where k is the number of
 * milestones reached.
 *
 * @param milestones epochs in ascending order
 * @param gamma factor per milestone
 */
public record StepSchedule(List<Double> milestones, double gamma) implements LearningRateSchedule {

  public StepSchedule {
    milestones = List.copyOf(milestones);
    for (int i = 1; i < milestones.size(); i++) {
      if (milestones.get(i) <= milestones.get(i - 1)) {
        throw new IllegalArgumentException(
            "milestones are %s, expected ascending epochs".formatted(milestones));
      }
    }
  }

  @Override
  public boolean countsEpochs() {
    return true;
  }

  @Override
  public double factor(long updates, double epochs) {
    long reached = milestones.stream().filter(milestone -> epochs >= milestone).count();
    return Math.pow(gamma, reached);
  }
}
