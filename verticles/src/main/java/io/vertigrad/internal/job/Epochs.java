package io.vertigrad.internal.job;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;

/**
 * At which versions passes over the training set end, as {@link io.vertigrad.job.TrainingLength}
 * counts them.
 *
 * @param steps of each worker in one epoch; infinite to never end one
 * @param versions of such a step: 1, or one per worker where each gradient is a version of its own
 */
public record Epochs(double steps, int versions) {

  /** No epoch ever ends. */
  public static final Epochs NONE = new Epochs(Double.POSITIVE_INFINITY, 1);

  /** What a product of decimal fractions may be off. */
  private static final double ROUNDING = 1e-9;

  /** The epochs of a job on a training set of this size. */
  public static Epochs of(JobConfig job, StrategyFactory strategy, long trainingSamples) {
    return new Epochs(
        job.stepsPerEpoch(trainingSamples), strategy.lockstep() ? 1 : job.workers().count());
  }

  /** Version at which so many epochs, or parts of them, have ended. */
  public long end(double epochs) {
    return (long) Math.ceil(epochs * steps - ROUNDING) * versions;
  }

  /** How many epochs have ended at this version. */
  public long ended(long version) {
    long ended = (long) (version / (steps * versions));
    while (end(ended + 1) <= version) {
      ended++;
    }
    while (ended > 0 && end(ended) > version) {
      ended--;
    }
    return ended;
  }
}
