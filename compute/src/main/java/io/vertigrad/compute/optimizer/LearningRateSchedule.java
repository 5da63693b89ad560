package io.vertigrad.compute.optimizer;

/** A factor on the base learning rate, as a function of how far the run is. */
@FunctionalInterface
public interface LearningRateSchedule {

  /**
   * The factor for one update.
   *
   * @param updates updates applied before this one
   * @param epochs samples applied so far over the size of the training set
   */
  double factor(long updates, double epochs);

  /** Always 1. */
  static LearningRateSchedule constant() {
    return (updates, epochs) -> 1;
  }
}
