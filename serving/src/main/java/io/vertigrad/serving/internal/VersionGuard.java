package io.vertigrad.serving.internal;

import io.vertigrad.compute.Metric;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.VersionRefused;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Decides by the evaluator's tests whether newer parameters may be served. Only tests that were
 * heard since the predictor was started count. Any thread may use it.
 */
final class VersionGuard {

  private static final double PERCENT = 100;

  private final OptionalDouble margin;
  private final String predictor;
  private Evaluated last;
  private double best = Double.NaN;
  private boolean announced;

  /**
   * Creates a guard that has heard of no test.
   *
   * @param margin largest amount by which the last test may be worse than the best: percentage
   *     points of accuracy, or percent of the loss; empty to allow everything
   */
  VersionGuard(OptionalDouble margin, String predictor) {
    this.margin = margin;
    this.predictor = predictor;
  }

  synchronized void onTest(Evaluated test) {
    double value = value(test);
    boolean better = byAccuracy(test) ? value > best : value < best;
    best = Double.isNaN(best) || better ? value : best;
    last = test;
    announced = false;
  }

  /** Returns whether newer parameters may be served. */
  synchronized boolean allows() {
    if (margin.isEmpty() || last == null) {
      return true;
    }
    // A test with NaN is never good enough.
    return byAccuracy(last)
        ? value(last) >= best - margin.getAsDouble()
        : value(last) <= best * (1 + margin.getAsDouble() / PERCENT);
  }

  /**
   * Returns the event that a version is not served; empty if one was returned since the last test.
   */
  synchronized Optional<VersionRefused> refusal(long version, long served) {
    if (announced) {
      return Optional.empty();
    }
    announced = true;
    return Optional.of(
        new VersionRefused(
            System.currentTimeMillis(),
            predictor,
            version,
            served,
            byAccuracy(last) ? "accuracy" : "loss",
            value(last),
            best));
  }

  private static boolean byAccuracy(Evaluated test) {
    return test.kind() == Metric.ACCURACY || test.kind() == Metric.LABEL_ACCURACY;
  }

  private static double value(Evaluated test) {
    return byAccuracy(test) ? test.accuracy() : test.loss();
  }
}
