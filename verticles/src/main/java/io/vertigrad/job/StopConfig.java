package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.OptionalDouble;

/**
 * Conditions that end a job before its last step. The first one that is reached ends it.
 *
 * @param accuracy accuracy of a test in percent, this or more
 * @param loss mean loss of a test's samples, this or less
 * @param minutes minutes of training, without pauses
 */
public record StopConfig(OptionalDouble accuracy, OptionalDouble loss, OptionalDouble minutes) {

  /** No condition ends the job early. */
  public static final StopConfig NONE =
      new StopConfig(OptionalDouble.empty(), OptionalDouble.empty(), OptionalDouble.empty());

  private static final double LEAST = 1e-6;
  private static final double MOST_LOSS = 1e6;
  private static final double MOST_MINUTES = 1e7;

  static StopConfig read(Settings section, EvaluatorConfig evaluator) {
    StopConfig config =
        new StopConfig(
            number(section, "accuracy", 100),
            number(section, "loss", MOST_LOSS),
            number(section, "minutes", MOST_MINUTES));
    section.refuseUnknown();
    if (config.looksAtTests() && evaluator.count() == 0) {
      throw section.refuse(
          config.accuracy.isPresent() ? "accuracy" : "loss",
          "is given, but evaluator.count is 0, so nobody tests; expected an evaluator, or"
              + " stop.minutes");
    }
    return config;
  }

  /**
   * Returns whether a condition needs tests.
   *
   * @return true if an accuracy or a loss may end the job
   */
  public boolean looksAtTests() {
    return accuracy.isPresent() || loss.isPresent();
  }

  private static OptionalDouble number(Settings section, String key, double most) {
    return section.has(key)
        ? OptionalDouble.of(section.number(key, 0, LEAST, most))
        : OptionalDouble.empty();
  }
}
