package io.vertigrad.compute;

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
 */
public record Score(
    int samples, double lossSum, int correct, int correctTop, int answers, Metric metric) {

  /** The score of no samples. */
  public static final Score NONE = new Score(0, 0, 0);

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
        samples == 0 ? other.metric : metric);
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
   * Returns the figure of the metric.
   *
   * @return see {@link Metric#value}
   */
  public double metricValue() {
    return metric.value(loss(), accuracy());
  }

  private double percent(int right) {
    return answers == 0 ? Double.NaN : 100.0 * right / answers;
  }
}
