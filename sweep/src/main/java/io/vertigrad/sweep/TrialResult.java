package io.vertigrad.sweep;

import java.util.Comparator;
import java.util.Optional;

/**
 * The result of a trial at the step up to which it was trained.
 *
 * @param loss mean loss on the whole test set; NaN when it failed
 * @param accuracy accuracy on the whole test set in percent; NaN when it failed, or predicts values
 * @param samples training samples that the trial has used so far
 * @param processorSeconds processor time that the trial has used so far
 * @param problem why the trial failed or diverged: it ranks last and is not continued
 */
public record TrialResult(
    double loss, double accuracy, long samples, double processorSeconds, Optional<String> problem) {

  /** What the best result is. */
  public enum Order {
    /** Highest accuracy; of two that are equal, or without one, the lowest loss. */
    ACCURACY,
    /** Lowest loss. */
    LOSS
  }

  /**
   * Returns a result of a trial that failed.
   *
   * @param problem why
   * @return the result, without figures
   */
  public static TrialResult failed(String problem) {
    return new TrialResult(Double.NaN, Double.NaN, 0, 0, Optional.of(problem));
  }

  /**
   * Returns whether the trial failed or diverged.
   *
   * @return true when there is a problem, or the loss is not a number
   */
  public boolean isWorst() {
    return problem.isPresent() || !Double.isFinite(loss);
  }

  /**
   * Returns an order of results, the best first.
   *
   * @param order what is best
   * @return the order; results that are the worst come last and are equal
   */
  public static Comparator<TrialResult> bestFirst(Order order) {
    Comparator<TrialResult> byLoss =
        Comparator.comparingDouble(one -> one.isWorst() ? Double.POSITIVE_INFINITY : one.loss());
    return order == Order.LOSS
        ? byLoss
        : Comparator.<TrialResult>comparingDouble(
                one ->
                    one.isWorst() || Double.isNaN(one.accuracy())
                        ? Double.POSITIVE_INFINITY
                        : -one.accuracy())
            .thenComparing(byLoss);
  }
}
