package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.OptionalDouble;

/**
 * What ends a job before its last step; whichever is reached first does.
 *
 * @param accuracy percent of a test's samples, that or more
 * @param loss mean over a test's samples, that or less
 * @param minutes of training, without pauses
 */
public record StopConfig(OptionalDouble accuracy, OptionalDouble loss, OptionalDouble minutes) {

  /** Nothing does. */
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
   * Tells whether tests decide.
   *
   * @return true when an accuracy or a loss may end the job
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
