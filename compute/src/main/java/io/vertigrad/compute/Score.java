package io.vertigrad.compute;

/**
 * How well a model did on some samples.
 *
 * @param samples number of samples
 * @param lossSum sum of their losses (negative log-likelihood, natural logarithm)
 * @param correct how many the model classified correctly
 * @param correctTop for how many the right class was among the k most probable; 0 where no k was
 *     asked for
 */
public record Score(int samples, double lossSum, int correct, int correctTop) {

  public static final Score NONE = new Score(0, 0, 0);

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
        correctTop + other.correctTop);
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
   * @return from 0 to 100
   */
  public double accuracy() {
    return samples == 0 ? 0 : 100.0 * correct / samples;
  }

  /**
   * Samples whose class is among the k most probable, in percent; 0 for no samples.
   *
   * @return from 0 to 100
   */
  public double topAccuracy() {
    return samples == 0 ? 0 : 100.0 * correctTop / samples;
  }
}
