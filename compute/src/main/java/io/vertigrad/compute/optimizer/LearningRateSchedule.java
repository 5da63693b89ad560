package io.vertigrad.compute.optimizer;

/** A factor on the base learning rate, as a function of how far the run is. */
@FunctionalInterface
public interface LearningRateSchedule {

  /**
   * The factor for one update.
   *
   * @param updates updates applied before this one
   * @param epochs samples applied so far over the size of the training set
   * @return what the base learning rate is multiplied with
   */
  double factor(long updates, double epochs);

  /**
   * True when it has to be told how long the run is before it knows a factor.
   *
   * @return false unless a schedule says so
   */
  default boolean needsRunLength() {
    return false;
  }

  /**
   * True when it changes at given epochs, which may be more than a run has.
   *
   * @return false unless a schedule says so
   */
  default boolean isFinite() {
    return needsRunLength();
  }

  /**
   * The schedule of a run of so many epochs, where it depends on that.
   *
   * @param runEpochs samples applied by the end of the run over the size of the training set
   * @return a schedule; this one where nothing depends on it
   */
  default LearningRateSchedule over(double runEpochs) {
    return this;
  }

  /**
   * Always 1.
   *
   * @return the schedule
   */
  static LearningRateSchedule constant() {
    return (updates, epochs) -> 1;
  }
}
