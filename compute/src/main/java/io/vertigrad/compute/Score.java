package io.vertigrad.compute;

/**
 * How well a model did on some samples.
 *
 * @param samples number of samples
 * @param lossSum sum of their losses, see {@link Loss}; natural logarithm
 * @param correct how many answers were right
 * @param correctTop for how many the right class was among the k most probable; 0 where no k was
 *     asked for
 * @param answers how many could be right: one for each sample, position or label; 0 where the model
 *     tells values
 * @param metric what people are told beside the loss
 */
public record Score(
    int samples, double lossSum, int correct, int correctTop, int answers, Metric metric) {

  /** Of no samples. */
  public static final Score NONE = new Score(0, 0, 0);

  /**
   * Of samples with one class each.
   *
   * @param samples how many samples were scored
   * @param lossSum sum of their losses
   * @param correct how many were classified correctly
   * @param correctTop for how many the right class was among the k most probable
   */
  public Score(int samples, double lossSum, int correct, int correctTop) {
    this(samples, lossSum, correct, correctTop, samples, Metric.ACCURACY);
  }

  /**
   * Without a count of the k most probable.
   *
   * @param samples how many samples were scored
   * @param lossSum sum of their losses
   * @param correct how many were classified correctly
   */
  public Score(int samples, double lossSum, int correct) {
    this(samples, lossSum, correct, 0);
  }

  /**
   * Adds the score of other samples.
   *
   * @param other of the same model and the same number of most probable classes
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
   * Mean loss, 0 for no samples.
   *
   * @return the mean
   */
  public double loss() {
    return samples == 0 ? 0 : lossSum / samples;
  }

  /**
   * Correct answers in percent, 0 for no samples.
   *
   * @return from 0 to 100; NaN where the model tells values
   */
  public double accuracy() {
    return samples == 0 ? 0 : percent(correct);
  }

  /**
   * Samples whose class is among the k most probable, in percent; 0 for no samples.
   *
   * @return from 0 to 100; 0 where nothing was counted
   */
  public double topAccuracy() {
    return answers == 0 ? 0 : percent(correctTop);
  }

  /**
   * The figure of its metric.
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
