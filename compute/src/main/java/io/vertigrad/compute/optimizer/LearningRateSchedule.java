package io.vertigrad.compute.optimizer;

/** A factor on the base learning rate, as a function of the progress of the run. */
@FunctionalInterface
public interface LearningRateSchedule {

  /**
   * Returns the factor for one update.
   *
   * @param updates number of updates applied before this one
   * @param epochs samples applied so far divided by the size of the training set
   * @return factor on the base learning rate
   */
  double factor(long updates, double epochs);

  /**
   * Returns true when the schedule needs the length of the run, see {@link #over}.
   *
   * @return false by default
   */
  default boolean needsRunLength() {
    return false;
  }

  /**
   * Returns true when the factor depends on the epochs, and so on the size of the training set.
   *
   * @return false by default, unless it needs the run's length
   */
  default boolean countsEpochs() {
    return needsRunLength();
  }

  /**
   * Returns the schedule for a run of a given length.
   *
   * @param runEpochs samples applied by the end of the run divided by the size of the training set
   * @return a schedule; this one when it does not depend on the length
   */
  default LearningRateSchedule over(double runEpochs) {
    return this;
  }

  /**
   * Returns a schedule whose factor is always 1.
   *
   * @return the schedule
   */
  static LearningRateSchedule constant() {
    return (updates, epochs) -> 1;
  }
}
