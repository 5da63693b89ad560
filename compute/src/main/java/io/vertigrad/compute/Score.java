package io.vertigrad.compute;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The result of evaluating a model on some samples.
 *
 * @param samples number of samples
 * @param lossSum sum of their losses, see {@link Loss}; natural logarithm
 * @param correct number of correct predictions
 * @param correctTop number of predictions whose correct class was among the k most probable; 0 when
 *     k was 0
 * @param answers number of predictions that can be correct: one for each sample, position or label;
 *     0 when the model predicts values
 * @param metric the figure that is reported besides the loss
 * @param errors errors of each value in its unit; empty when the model predicts no values, or their
 *     names and units are not known
 */
public record Score(
    int samples,
    double lossSum,
    int correct,
    int correctTop,
    int answers,
    Metric metric,
    List<ValueErrors> errors) {

  /** The score of no samples. */
  public static final Score NONE = new Score(0, 0, 0);

  /** Copies the errors. */
  public Score {
    errors = List.copyOf(errors);
  }

  /**
   * Creates a score without the errors of each value.
   *
   * @param samples number of samples
   * @param lossSum sum of their losses
   * @param correct number of correct predictions
   * @param correctTop number of predictions whose correct class was among the k most probable
   * @param answers number of predictions that can be correct
   * @param metric the figure that is reported besides the loss
   */
  public Score(
      int samples, double lossSum, int correct, int correctTop, int answers, Metric metric) {
    this(samples, lossSum, correct, correctTop, answers, metric, List.of());
  }

  /**
   * Creates the score of samples with one class each.
   *
   * @param samples number of samples
   * @param lossSum sum of their losses
   * @param correct number of samples that were classified correctly
   * @param correctTop number of samples whose class was among the k most probable
   */
  public Score(int samples, double lossSum, int correct, int correctTop) {
    this(samples, lossSum, correct, correctTop, samples, Metric.ACCURACY);
  }

  /**
   * Creates a score without a count of the k most probable classes.
   *
   * @param samples number of samples
   * @param lossSum sum of their losses
   * @param correct number of samples that were classified correctly
   */
  public Score(int samples, double lossSum, int correct) {
    this(samples, lossSum, correct, 0);
  }

  /**
   * Adds the score of other samples.
   *
   * @param other score of the same model, for the same k
   * @return the sums
   */
  public Score plus(Score other) {
    return new Score(
        samples + other.samples,
        lossSum + other.lossSum,
        correct + other.correct,
        correctTop + other.correctTop,
        answers + other.answers,
        samples == 0 ? other.metric : metric,
        samples == 0 || other.samples == 0 ? (samples == 0 ? other : this).errors : both(other));
  }

  private List<ValueErrors> both(Score other) {
    return IntStream.range(0, Math.min(errors.size(), other.errors.size()))
        .mapToObj(i -> errors.get(i).plus(samples, other.errors.get(i), other.samples))
        .toList();
  }

  /**
   * Returns the mean loss; 0 for no samples.
   *
   * @return the mean
   */
  public double loss() {
    return samples == 0 ? 0 : lossSum / samples;
  }

  /**
   * Returns the correct predictions in percent; 0 for no samples.
   *
   * @return from 0 to 100; NaN when the model predicts values
   */
  public double accuracy() {
    return samples == 0 ? 0 : percent(correct);
  }

  /**
   * Returns the samples whose class is among the k most probable, in percent; 0 for no samples.
   *
   * @return from 0 to 100; 0 when k was 0
   */
  public double topAccuracy() {
    return answers == 0 ? 0 : percent(correctTop);
  }

  /**
   * Returns the figure of the metric; the RMSE of a single value is in its unit.
   *
   * @return see {@link Metric#value}
   */
  public double metricValue() {
    return errors.size() == 1 ? errors.get(0).rmse() : metric.value(loss(), accuracy());
  }

  /**
   * Formats the score for display, without its loss.
   *
   * @param top text after the accuracy, or empty
   * @return see {@link Metric#text}; the errors of each value if they are known
   */
  public String text(String top) {
    return errors.isEmpty() ? metric.text(loss(), accuracy(), top) : ValueErrors.text(errors);
  }

  private double percent(int right) {
    return answers == 0 ? Double.NaN : 100.0 * right / answers;
  }
}
